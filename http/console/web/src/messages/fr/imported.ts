import { plural } from '../../lib/i18n.svelte.ts';
import type { Messages } from '../en/index.ts';

const of = (n: number, one: string, other: string): string => plural('fr', n, { one: `${n} ${one}`, other: `${n} ${other}` });
const word = (one: string, other: string) => (n: number): string => plural('fr', n, { one, other });

const imported: Messages['imported'] = {
  import: 'Importer',
  importing: 'Importation…',
  sending: (size) => `Envoi de ${size}`,
  checking: 'Examen de ce que l’archive apporte',
  tooLarge: (size, limit) => `L’archive fait ${size}. On peut importer au plus ${limit} ici.`,
  planFirst: 'L’archive est d’abord examinée.',
  willImport: 'Sera importé',
  wasImported: 'A été importé',
  willDelete: (n) => `${of(n, 'document sera supprimé', 'documents seront supprimés')} :`,
  wasDeleted: (n) => `${of(n, 'document a été supprimé', 'documents ont été supprimés')} :`,
  nothingToImport: 'Rien dans cette archive ne peut être importé.',
  allDocuments: (n) => `Afficher ${of(n, 'document', 'documents')}`,
  faults: (n) => of(n, 'erreur', 'erreurs'),
  warnings: (n) => of(n, 'avertissement', 'avertissements'),
  faultsText: 'Les fichiers en erreur sont laissés de côté. Tout le reste peut être importé.',
  faultsLeft: 'Ces fichiers ont été laissés de côté.',
  noFaults: 'Aucun fichier n’est en erreur.',
  archive: 'L’archive',
  title: (file) => `Importer ${file}`,
  restoreText: 'Le contenu redevient ce qu’il était alors, par un nouveau changement. Rien n’est effacé : ce qui est ici maintenant reste dans l’historique. L’identifiant court, les domaines et les dépôts ne changent pas.',
  willChange: 'Ces documents changent',
  now: 'Maintenant',
  then: 'Après restauration',
  restoreFirst: 'Ce que cela changerait est d’abord examiné.',
  restoreCount: (n) => `Restaurer ${of(n, 'document', 'documents')}`,
  nothingToRestore: 'Rien ne diffère de ce qui est ici maintenant.',
  restored: 'Le contenu antérieur est restauré',
  kinds: {
    automations: word('automatisation', 'automatisations'),
    pages: word('page', 'pages'),
    imports: word('application', 'applications'),
    files: word('fichier', 'fichiers'),
    index: word('description de l’espace', 'descriptions d’espaces'),
    security: word('jeu de règles', 'jeux de règles'),
    other: word('autre document', 'autres documents'),
  },
};
export default imported;
