import { expect, test } from 'vitest';
import { allFaults, hasSecrets, initialValue, widgetOf, withoutSecrets, type TypedField } from './typedfield.ts';

const form: TypedField = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string', minLength: 2 },
    age: { type: 'integer', minimum: 0, required: true },
    tags: { type: 'array', items: { type: 'string', maxLength: 3 } },
    address: { type: 'object', properties: { city: { type: 'string', default: 'Paris' } } },
  },
};

test('finds the widget of a field', () => {
  expect(widgetOf({ type: 'string' })).toBe('text');
  expect(widgetOf({ type: 'string', secret: true })).toBe('secret');
  expect(widgetOf({ type: 'string', enum: ['a'] })).toBe('select');
  expect(widgetOf({ type: 'localized:string' })).toBe('localized');
  expect(widgetOf({ oneOf: [{ type: 'string' }, { type: 'number' }] })).toBe('oneOf');
  expect(widgetOf({ type: 'object' })).toBe('json');
  expect(widgetOf({})).toBe('json');
});

test('begins with the defaults', () => {
  expect(initialValue(form)).toEqual({ address: { city: 'Paris' } });
});

test('lists every fault with its path', () => {
  expect(allFaults(form, { name: 'x', age: 1.5, tags: ['abc', 'abcd'] })).toEqual([
    ['name', { key: 'minLength', value: 2 }],
    ['age', { key: 'integer' }],
    ['tags[1]', { key: 'maxLength', value: 3 }],
  ]);
  expect(allFaults(form, {})).toEqual([
    ['name', { key: 'required' }],
    ['age', { key: 'required' }],
  ]);
});

test('what is marked secret is left out, at every depth', () => {
  const secret = { type: 'string', secret: true };
  const field = { type: 'object', properties: { name: { type: 'string' }, token: secret, hosts: { type: 'array', items: { type: 'object', properties: { url: { type: 'string' }, key: secret } } } } };
  expect(withoutSecrets({ name: 'a', token: 'b', hosts: [{ url: 'c', key: 'd' }], free: { token: 'e' } }, field)).toEqual({ name: 'a', hosts: [{ url: 'c' }], free: { token: 'e' } });
  expect(hasSecrets(field)).toBe(true);
  expect(hasSecrets({ type: 'object', properties: { name: { type: 'string' } } })).toBe(false);
});
