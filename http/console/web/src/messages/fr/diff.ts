import { plural } from '../../lib/i18n.svelte.ts';
import type { Messages } from '../en/index.ts';

const of = (n: number, one: string, other: string): string => plural('fr', n, { one: `${n} ${one}`, other: `${n} ${other}` });

const diff: Messages['diff'] = {
  nothing: 'Rien ne diffère.',
  summary: (added, modified, deleted) => `${of(added + modified + deleted, 'fichier diffère', 'fichiers diffèrent')} : ${added} ajoutés, ${modified} modifiés, ${deleted} supprimés.`,
  changes: { added: 'Ajouté', modified: 'Modifié', deleted: 'Supprimé' },
  removedLine: 'retirée :',
  addedLine: 'ajoutée :',
  fromLine: (n) => `À partir de la ligne ${n}`,
  text: 'Texte',
};
export default diff;
