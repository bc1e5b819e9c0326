import { plural } from '../../lib/i18n.svelte.ts';

export default {
  leave: 'Tab indents. Press Escape, then Tab to leave the editor.',
  problems: 'Problems',
  noProblems: 'No problems',
  error: 'Error',
  warning: 'Warning',
  errors: (n: number) => plural('en', n, { one: '1 error', other: `${n} errors` }),
  warnings: (n: number) => plural('en', n, { one: '1 warning', other: `${n} warnings` }),
  checking: 'Checking…',
  mine: 'Mine',
  theirs: 'Theirs',
  base: 'Before',
  same: 'Both texts are the same.',
  takePart: 'Take this part over',
  compareTitle: (name: string) => `Compare ${name}`,
  refusedStale: (name: string) => (name ? `Not saved: ${name} saved first.` : 'Not saved: someone else saved first.'),
  nothingLost: 'Both texts are kept until you decide.',
  theirsAndMine: 'Theirs and mine',
  whatTheyChanged: 'What they changed',
  whatIChanged: 'What I changed',
  saveMine: 'Save mine',
};
