import { expect, test } from 'vitest';
import { byDay, changeAt, mergeChanges, type Change } from './changes.svelte.ts';

const entry = (seq: string, at = '2026-11-12T10:00:00.000Z'): Change => ({ seq, at, by: '', type: 'workspaces.updated', summary: 'x', correlationId: '', undoable: true });
const seqs = (entries: Change[]): string[] => entries.map(({ seq }) => seq);

test('new entries come on top of those that are known', () => {
  const known = ['c', 'b', 'a'].map((seq) => entry(seq));
  expect(seqs(mergeChanges(['e', 'd', 'c'].map((seq) => entry(seq)), known))).toEqual(['e', 'd', 'c', 'b', 'a']);
  expect(seqs(mergeChanges(['z', 'y'].map((seq) => entry(seq)), known))).toEqual(['z', 'y']);
  expect(seqs(mergeChanges([], known))).toEqual([]);
});

test('a moment is a position, a revision or a time', () => {
  const entries = [{ ...entry('c', '2026-11-12T12:00:00.000Z'), contentRevision: 9 }, entry('b', '2026-11-12T11:00:00.000Z'), entry('a')];
  expect(changeAt(entries, undefined)).toBe(0);
  expect(changeAt(entries, 'b')).toBe(1);
  expect(changeAt(entries, '9')).toBe(0);
  expect(changeAt(entries, '2026-11-12T11:30:00Z')).toBe(1);
  expect(changeAt(entries, '2026-11-12T09:00:00Z')).toBe(-1);
  expect(changeAt([], undefined)).toBe(-1);
});

test('changes are grouped by day in their order', () => {
  const days = byDay([entry('c', '2026-11-13T00:00:00Z'), entry('b'), entry('a')], (at) => at.slice(0, 10));
  expect(days.map(({ day, entries }) => [day, entries.length])).toEqual([['2026-11-13', 1], ['2026-11-12', 2]]);
});
