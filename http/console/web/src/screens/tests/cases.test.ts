import { expect, test } from 'vitest';
import { casesIn } from './cases.ts';

test('cases are found with their lines, whatever their names look like', () => {
  expect(casesIn("automation: charge\ncases:\n  - name: 'it''s large'\n    input: {}\n  - input: {}\n    name: small: no\n")).toBeUndefined();
  expect(casesIn("automation: charge\ncases:\n  - name: 'it''s large'\n    input: {}\n  - input: {}\n    name: small\n  - stubs: {}\n")).toEqual([{ name: "it's large", line: 3 }, { name: 'small', line: 6 }]);
});

test('a suite without cases has none', () => {
  expect(casesIn('automation: charge\n')).toEqual([]);
  expect(casesIn('')).toEqual([]);
});
