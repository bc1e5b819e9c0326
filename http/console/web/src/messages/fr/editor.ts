import { plural } from '../../lib/i18n.svelte.ts';
import type { Messages } from '../en/index.ts';

const editor: Messages['editor'] = {
  leave: 'Tab indente. Appuyez sur Échap puis Tab pour quitter l’éditeur.',
  problems: 'Problèmes',
  noProblems: 'Aucun problème',
  error: 'Erreur',
  warning: 'Avertissement',
  errors: (n) => plural('fr', n, { one: '1 erreur', other: `${n} erreurs` }),
  warnings: (n) => plural('fr', n, { one: '1 avertissement', other: `${n} avertissements` }),
  checking: 'Vérification…',
  mine: 'Mon texte',
  theirs: 'Texte enregistré',
  base: 'Avant',
  same: 'Les deux textes sont identiques.',
  takePart: 'Reprendre cette partie',
  compareTitle: (name) => `Comparer ${name}`,
  refusedStale: (name) => (name ? `Pas enregistré : ${name} a enregistré avant.` : 'Pas enregistré : quelqu’un a enregistré avant.'),
  nothingLost: 'Les deux textes sont gardés jusqu’à votre décision.',
  theirsAndMine: 'Les deux textes',
  whatTheyChanged: 'Changements enregistrés',
  whatIChanged: 'Mes changements',
  saveMine: 'Enregistrer le mien',
  unsaved: 'Non enregistré',
  notSaved: (n) => plural('fr', n, { one: 'Pas enregistré, 1 erreur :', other: `Pas enregistré, ${n} erreurs :` }),
  showProblem: 'La montrer',
  savedAt: (time) => `Enregistré à ${time}`,
  nothingToSave: 'Rien n’a changé.',
};
export default editor;
