import { expect, test } from 'vitest';
import { builtIn, findKinds, kindsOf, whyUnknown } from './catalogue.ts';
import { readTree } from './blocktree.ts';
import en from '../../messages/en/pages.ts';

const workspace = {
  blocks: { Header: { description: 'Ours' }, Product: { name: { en: 'Product' } } },
  imports: { crm: { slug: 'crm', blocks: [{ slug: 'crm.Card', description: 'A customer' }] }, off: { slug: 'off', disabled: true, blocks: [{ slug: 'off.Card' }] } },
} as never;

test('every built-in kind has an example of itself and a sentence', () => {
  for (const [kind, example] of Object.entries(builtIn)) {
    expect(readTree(`blocks:\n  - ${example.trimEnd().replaceAll('\n', '\n    ')}\n`)![0]?.kind).toBe(kind);
    expect((en.kinds as Record<string, string>)[kind]).toMatch(/\.$/);
  }
});

test('own kinds win over built-in ones, and those of disabled apps are not offered', () => {
  const kinds = kindsOf(workspace, {});
  expect(kinds.filter((one) => one.kind === 'Header')).toMatchObject([{ origin: 'own', text: 'Ours' }]);
  expect(kinds.map((one) => one.kind)).toContain('crm.Card');
  expect(kinds.map((one) => one.kind)).not.toContain('off.Card');
  expect(findKinds(kinds, 'card').map((one) => one.kind)).toEqual(['Cards', 'crm.Card']);
  expect(findKinds(kinds, 'customer').map((one) => one.kind)).toEqual(['crm.Card']);
});

test('why a block is not known', () => {
  const kinds = kindsOf(workspace, {});
  expect(whyUnknown('Product', kinds, workspace)).toBeUndefined();
  expect(whyUnknown('Nonsense', kinds, workspace)).toEqual({});
  expect(whyUnknown('shop.Cart', kinds, workspace)).toEqual({ instance: 'shop' });
  expect(whyUnknown('crm.Cart', kinds, workspace)).toEqual({});
});
