import type { Messages } from '../en/index.ts';

const form: Messages['form'] = {
  required: 'Ce champ est obligatoire.',
  number: 'Un nombre est attendu ici.',
  integer: 'Un nombre entier est attendu ici.',
  min: (n) => `Au moins ${n}.`,
  max: (n) => `Au plus ${n}.`,
  minLength: (n) => `Au moins ${n} caractères.`,
  maxLength: (n) => `Au plus ${n} caractères.`,
  pattern: 'La forme n’est pas celle attendue.',
  email: 'Ce n’est pas une adresse e-mail.',
  json: 'Ce n’est pas encore du JSON.',
  noFields: 'Aucun champ.',
  addItem: 'Ajouter',
  moveUp: (n) => `Monter ${n}`,
  moveDown: (n) => `Descendre ${n}`,
  removeItem: (n) => `Retirer ${n}`,
  isFirst: 'C’est le premier.',
  isLast: 'C’est le dernier.',
  byLanguage: 'Par langue',
  shape: 'Forme',
  choose: 'Choisir…',
};
export default form;
