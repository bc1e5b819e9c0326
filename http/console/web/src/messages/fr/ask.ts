import { plural } from '../../lib/i18n.svelte.ts';
import type { Messages } from '../en/index.ts';

const of = (text: string, n: number, one: string, other: string): string => plural('fr', n, { one: `${text} ${one}`, other: `${text} ${other}` });

const ask: Messages['ask'] = {
  ask: 'Demander',
  askTitle: 'Poser une question',
  askText: 'Un modèle de langage répond à partir des passages qui conviennent, et les cite. Chaque question connaît les précédentes de cette page ; rien n’en est gardé.',
  question: 'Votre question',
  questionHelp: 'Entrée demande, Maj et Entrée commence une autre ligne.',
  askOptions: 'Mode, passages et modèle',
  findingPassages: 'Recherche des passages…',
  readingPassages: (text, n) => `Le modèle répond à partir de ${of(text, n, 'document', 'documents')}…`,
  stopped: 'Arrêté',
  stop: 'Arrêter',
  isAsking: 'La réponse à la dernière question est en cours.',
  clearQuestions: 'Recommencer',
  grounded: 'Cite ses sources',
  notGrounded: 'Ne cite aucune source : ne vous y fiez pas',
  noPassages: 'Aucun passage ne convient : aucun modèle n’a été interrogé',
  copyAnswer: 'Copier la réponse',
  answerTokens: (prompt, completion) => `${prompt} jetons lus, ${completion} écrits`,
  answerCut: 'Coupée : elle a atteint ses jetons',
  setModel: 'Choisir un modèle',
  mode: 'Mode',
  topK: 'Passages',
  topKHelp: 'De 1 à 50 ; 8 sinon.',
  model: 'Modèle',
  modelHelp: 'Sous la forme fournisseur/modèle. Vide : celui de la base, sinon celui par défaut.',
};
export default ask;
