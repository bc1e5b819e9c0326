import { plural } from '../../lib/i18n.svelte.ts';

const of = (n: number, one: string, other: string): string => plural('en', n, { one: `1 ${one}`, other: `${n} ${other}` });

/* What differs between two moments. */
export default {
  nothing: 'Nothing differs.',
  summary: (added: number, modified: number, deleted: number) => `${of(added + modified + deleted, 'file differs', 'files differ')}: ${added} added, ${modified} changed, ${deleted} deleted.`,
  changes: { added: 'Added', modified: 'Changed', deleted: 'Deleted' },
  removedLine: 'removed:',
  addedLine: 'added:',
  fromLine: (n: number) => `From line ${n}`,
  text: 'Text',
};
