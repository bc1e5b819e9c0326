import { i18n } from '../i18n.svelte.ts';

const french: Record<string, string> = {
  Find: 'Chercher',
  Replace: 'Remplacer par',
  next: 'suivant',
  previous: 'précédent',
  all: 'tout',
  'match case': 'casse exacte',
  regexp: 'expression régulière',
  'by word': 'mot entier',
  replace: 'remplacer',
  'replace all': 'tout remplacer',
  close: 'fermer',
  'current match': 'résultat actuel',
  'replaced $ matches': '$ résultats remplacés',
  'replaced match on line $': 'résultat remplacé à la ligne $',
  'on line': 'à la ligne',
  'Go to line': 'Aller à la ligne',
  go: 'aller',
  Completions: 'Propositions',
  'Control character': 'Caractère de contrôle',
  'Selection deleted': 'Sélection supprimée',
  Diagnostics: 'Problèmes',
  'No diagnostics': 'Aucun problème',
  'Folded lines': 'Lignes repliées',
  'Unfolded lines': 'Lignes dépliées',
  'Fold line': 'Replier',
  'Unfold line': 'Déplier',
  to: 'à',
  'folded code': 'texte replié',
  unfold: 'déplier',
  '$ unchanged lines': '$ lignes inchangées',
};

/** The words of CodeMirror's own panels in the language of the person. English needs none. */
export function editorPhrases(): Record<string, string> {
  return i18n.language === 'fr' ? french : {};
}
