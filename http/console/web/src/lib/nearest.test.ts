import { expect, test } from 'vitest';
import { editDistance, nearestNames } from './nearest.ts';

test('counts changed letters', () => {
  expect(editDistance('emti', 'emit')).toBe(1);
  expect(editDistance('', 'abc')).toBe(3);
});

test('names what was probably meant', () => {
  expect(nearestNames('chrage', ['charge', 'change', 'list', 'pay/charge-now'])).toEqual(['charge', 'change']);
  expect(nearestNames('charge', ['pay/charge-now'])).toEqual(['pay/charge-now']);
});
