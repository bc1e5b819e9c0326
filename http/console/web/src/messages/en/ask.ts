import { plural } from '../../lib/i18n.svelte.ts';

const of = (text: string, n: number, one: string, other: string): string => plural('en', n, { one: `1 ${one}`, other: `${text} ${other}` });

export default {
  ask: 'Ask',
  askTitle: 'Ask a question',
  askText: 'A language model answers from the passages that fit, and cites them. Each question knows those before it on this page; nothing of it is kept.',
  question: 'Question',
  questionHelp: 'Enter asks, Shift and Enter begins another line.',
  askOptions: 'Mode, passages and model',
  findingPassages: 'Looking for passages…',
  readingPassages: (text: string, n: number) => `The model answers from ${of(text, n, 'document', 'documents')}…`,
  stopped: 'Stopped',
  stop: 'Stop',
  isAsking: 'The last question is still being answered.',
  clearQuestions: 'Begin anew',
  grounded: 'Cites its sources',
  notGrounded: 'Cites no source: do not rely on it',
  noPassages: 'No passage fits, so that no model was asked',
  copyAnswer: 'Copy the answer',
  answerTokens: (prompt: string, completion: string) => `${prompt} tokens read, ${completion} written`,
  answerCut: 'Cut: it reached the tokens of an answer',
  setModel: 'Set up a model',
  mode: 'Mode',
  topK: 'Passages',
  topKHelp: 'From 1 to 50; 8 without it.',
  model: 'Model',
  modelHelp: 'As provider/model. Empty: that of the base, else the default.',
};
