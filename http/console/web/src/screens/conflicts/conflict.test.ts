import { expect, test } from 'vitest';
import { fingerprint, isDifference, joinParts, partsOf, resultOf, type ConflictFile } from './conflict.ts';

const merged = 'slug: charge\n<<<<<<< ours\nname: Mine\n=======\nname: Theirs\n>>>>>>> theirs\ndo: []\n<<<<<<< ours\n=======\noutput: 1\n>>>>>>> theirs\n';

test('a merged text is taken apart and joined', () => {
  const parts = partsOf(merged);
  expect(parts).toEqual([{ text: 'slug: charge\n' }, { ours: 'name: Mine\n', theirs: 'name: Theirs\n' }, { text: 'do: []\n' }, { ours: '', theirs: 'output: 1\n' }]);
  expect(parts.filter(isDifference)).toHaveLength(2);
  expect(joinParts(parts, ['ours', 'ours'])).toBe('slug: charge\nname: Mine\ndo: []\n');
  expect(joinParts(parts, ['theirs', 'theirs'])).toBe('slug: charge\nname: Theirs\ndo: []\noutput: 1\n');
  expect(partsOf('a: 1\n')).toEqual([{ text: 'a: 1\n' }]);
  expect(joinParts(partsOf('<<<<<<< ours\na\n'), [])).toBe('<<<<<<< ours\na\n');
});

const file: ConflictFile = { path: 'automations/a.yml', kind: 'modify/delete', keys: [], base: { content: 'a' }, ours: { content: 'b' }, theirs: null, merged: '' };

test('a decision gives a text, or none', () => {
  expect(resultOf(file, { use: 'ours' })).toBe('b');
  expect(resultOf(file, { use: 'theirs' })).toBe(null);
  expect(resultOf(file, { content: 'c' })).toBe('c');
});

test('the same conflict has the same fingerprint', () => {
  expect(fingerprint(file)).toBe(fingerprint({ ...file, path: 'elsewhere' }));
  expect(fingerprint(file)).not.toBe(fingerprint({ ...file, ours: { content: 'x' } }));
});
