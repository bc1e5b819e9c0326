import { expect, test } from 'vitest';
import { changesOf, compareFields, fieldText, mineOnTheirs } from './fields.ts';

test('a save sends what changed, null for what went', () => {
  expect(changesOf({ a: 1, b: 2, c: { x: 1 } }, { a: 1, c: { x: 2 } })).toEqual({ b: null, c: { x: 2 } });
});

test('a comparison shows who changed what', () => {
  expect(compareFields({ a: 1, b: 1, c: 1 }, { a: 2, b: 1, c: 2 }, { a: 3, b: 2, c: 1 }).map(({ name, both }) => [name, both])).toEqual([['a', true], ['b', false], ['c', false]]);
});

test('mine is put on theirs: what I took away stays away', () => {
  expect(mineOnTheirs({ a: 1, b: 1, c: 1 }, { a: 2, c: 1 }, { a: 3, b: 1, c: 4 })).toEqual({ a: 2, c: 4 });
});

test('a value is one line', () => {
  expect([undefined, null, 'a', 1, { a: [1] }].map(fieldText)).toEqual(['', '', 'a', '1', '{"a":[1]}']);
});
