import { expect, test } from 'vitest';
import { mask, settingsForm, withMasks, withoutMasks } from './apps.ts';

test('a secret is not shown, and its mask is sent back', () => {
  const stored = { url: 'https://a', key: mask, inner: { token: mask, n: 1 } };
  const shown = withoutMasks(stored);
  expect(shown).toEqual({ url: 'https://a', inner: { n: 1 } });
  expect(withMasks({ ...shown, url: 'https://b' }, stored)).toEqual({ url: 'https://b', key: mask, inner: { token: mask, n: 1 } });
  expect(Object.keys(withMasks({ inner: { n: 2 }, url: 'https://a' }, stored))).toEqual(['url', 'key', 'inner']);
  expect(withMasks({ ...shown, key: 'new' }, stored)).toMatchObject({ key: 'new' });
});

test('the form asks for declared settings, and not again for secrets that are set', () => {
  const schema = { key: { type: 'string', secret: true, required: true }, inner: { type: 'object', required: ['token', 'n'], properties: { token: { type: 'string', secret: true }, n: { type: 'number' } } } };
  const form = settingsForm(schema, { key: mask, inner: { token: mask }, other: 3 });
  expect(form.properties).toEqual({ key: { type: 'string', secret: true, required: false }, inner: { ...schema.inner, required: ['n'], properties: { token: { type: 'string', secret: true, required: false }, n: { type: 'number' } } }, other: {} });
  expect(settingsForm(schema, {}).properties).toEqual(schema);
});
