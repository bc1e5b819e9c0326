import { expect, test } from 'vitest';
import { contentOf, formOf, referencesIn, secretRows } from './config.ts';

test('a form has the declared fields, and values without one', () => {
  const content = contentOf({ schema: { city: { type: 'string' }, key: { type: 'string', secret: true } }, value: { key: '{{secret.old}}', more: [1] } })!;
  expect(Object.keys(formOf(content, []).properties!)).toEqual(['city', 'key', 'more']);
  expect(formOf(content, ['pay']).properties!.key!.enum).toEqual(['{{secret.old}}', '{{secret.pay}}']);
  expect(formOf(content, ['old']).properties!.key!.enum).toEqual(['{{secret.old}}']);
});

test('an empty config is a form without fields, and no mapping is none', () => {
  expect(contentOf(null)).toEqual({ schema: {}, value: {} });
  expect(contentOf([])).toBeUndefined();
  expect(contentOf(undefined)).toBeUndefined();
});

test('finds references wherever they stand', () => {
  expect(referencesIn({ a: 'Bearer {{ secret.token }}', b: ['{{secret.k-1}}', { c: '{{secret.token}}' }], d: '{{config.x}}' })).toEqual(['token', 'k-1']);
});

test('a secret is set, missing, or given by the operator', () => {
  const one = { createdAt: '', createdBy: '', updatedAt: '2026-01-01T00:00:00Z', updatedBy: 'u' };
  const rows = secretRows({ stored: one }, { declared: { description: 'why' }, stored: {}, given: {} }, new Set(['declared', 'used']));
  expect(rows.map(({ name, state, declared }) => `${name} ${state} ${declared}`)).toEqual(['declared missing true', 'given given true', 'stored set true', 'used missing false']);
  expect(rows[0]!.description).toBe('why');
});
