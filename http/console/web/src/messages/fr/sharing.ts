import type { Messages } from '../en/index.ts';

const sharing: Messages['sharing'] = {
  private: 'Privé',
  public: 'Public',
  copyAddress: 'Copier l’adresse',
  why: 'Pourquoi quelqu’un y a accès',
  level: 'Peuvent',
  privateText: 'Propriétaires et éditeurs.',
  membersText: 'Propriétaires, éditeurs et les personnes ci-dessous.',
  members: 'Aussi ces membres',
  roleNamed: (name) => `Rôle ${name}`,
  stopSharing: (name) => `Ne plus partager avec ${name}`,
  person: 'Adresse e-mail',
  add: 'Ajouter',
  role: 'Rôle',
  addRole: 'Ajouter le rôle',
  unknownPerson: 'Personne n’a cette adresse.',
};
export default sharing;
