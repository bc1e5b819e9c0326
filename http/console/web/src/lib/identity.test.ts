import { expect, test } from 'vitest';
import { freeSlug, slugInText, slugOf, withIdentity } from './identity.ts';

test('a free name', () => {
  expect(freeSlug('crm', [])).toBe('crm');
  expect(freeSlug('crm', ['crm', 'crm-2'])).toBe('crm-3');
});

test('a document gets another identity, and the rest of its text stays', () => {
  const text = "slug: home\nname:\n  en: Home\n  fr: Accueil\nblocks:\n  - slug: Header\n    name: x\n";
  expect(withIdentity(text, 'start', 'Où ?')).toBe("slug: start\nname: 'Où ?'\nblocks:\n  - slug: Header\n    name: x\n");
  expect(slugInText(withIdentity(text, "it's", 'x'))).toBe("it's");
  expect(slugOf('a/Été à la mer')).toBe('ete-a-la-mer');
});
