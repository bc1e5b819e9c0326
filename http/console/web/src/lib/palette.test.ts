import { expect, test } from 'vitest';
import { fuzzyScore } from './palette.svelte.ts';

test('finds letters in order and prefers beginnings', () => {
  expect(fuzzyScore('chg', 'charge')).toBeGreaterThan(0);
  expect(fuzzyScore('chg', 'go home')).toBe(0);
  expect(fuzzyScore('act', 'Activity')).toBeGreaterThan(fuzzyScore('act', 'React to it'));
  expect(fuzzyScore('pn', 'pay now')).toBeGreaterThan(fuzzyScore('pn', 'opening'));
  expect(fuzzyScore('', 'anything')).toBeGreaterThan(0);
});
