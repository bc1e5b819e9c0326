import { expect, test } from 'vitest';
import { changeOf, wordsOf, type TypedFields } from './documents.ts';
import { marksOf } from './marks.ts';
import { synonymLines, synonymsOf } from './settings.ts';

test('synonyms are lines of words, and back', () => {
  expect(synonymsOf('car, auto ,\n\n bill,invoice')).toEqual([['car', 'auto'], ['bill', 'invoice']]);
  expect(synonymsOf(' \n,')).toBeUndefined();
  expect(synonymLines([['car', 'auto'], ['bill', 'invoice']])).toBe('car, auto\nbill, invoice');
  expect(synonymLines(undefined)).toBe('');
});

test('only what was changed of a document is sent, and null removes', () => {
  const before: TypedFields = { name: 'a.md', title: 'A', tags: 'x, y', language: 'en', expiresAt: '', metadata: { year: 2024 } };
  expect(changeOf(before, { ...before, tags: 'x,y,x' })).toEqual({});
  expect(changeOf(before, { ...before, title: ' ', tags: '', language: '', metadata: undefined })).toEqual({ title: null, tags: [], language: null, metadata: null });
  expect(changeOf(before, { ...before, name: 'b.md', expiresAt: '2030-01-02T03:04' })).toEqual({ name: 'b.md', expiresAt: new Date('2030-01-02T03:04').toISOString() });
  expect(wordsOf(' a, b,,a')).toEqual(['a', 'b']);
});

test('highlights are text: only the marks of the server become marks', () => {
  expect(marksOf('a &lt;script&gt; <mark>x &amp; y</mark> … &lt;mark&gt;')).toEqual([
    { text: 'a <script> ', isMatch: false },
    { text: 'x & y', isMatch: true },
    { text: ' … <mark>', isMatch: false },
  ]);
});
