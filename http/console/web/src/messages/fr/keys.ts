import type { Messages } from '../en/index.ts';

const keys: Messages['keys'] = {
  palette: 'Ouvrir la palette',
  shortcuts: 'Afficher tous les raccourcis',
  filter: 'Filtrer',
  new: 'Nouveau',
  close: 'Fermer ce qui est au-dessus',
  save: 'Enregistrer',
  confirm: 'Enregistrer et exécuter ; confirmer un dialogue',
  nextProblem: 'Problème ou différence suivante',
  previousProblem: 'Problème ou différence précédente',
  down: 'Ligne suivante',
  up: 'Ligne précédente',
  open: 'Ouvrir la ligne',
  select: 'Sélectionner la ligne',
  unpushedOnly: 'Seulement les non poussés',
  hold: 'Suspendre ou reprendre',
  expand: 'Déplier',
  trace: 'Ouvrir la trace',
  edit: 'Modifier',
  mark: 'Marquer ce moment, pour comparer avec lui',
  compare: 'Comparer avec le moment marqué',
  undo: 'Annuler le changement',
};
export default keys;
