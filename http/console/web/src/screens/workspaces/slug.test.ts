import { expect, test } from 'vitest';
import { isSlug, nextSlug, slugFromName } from './slug.ts';

test('a name suggests a slug', () => {
  expect(slugFromName('Web shop')).toBe('web-shop');
  expect(slugFromName('  L’été à Besançon — n° 2  ')).toBe('lete-a-besancon-n-2');
  expect(slugFromName('Straße')).toBe('strasse');
  expect(slugFromName('<b>x</b>')).toBe('b-x-b');
  expect(slugFromName('商店')).toBe('');
  expect(slugFromName('Platform')).toBe('platform-1');
  expect(slugFromName(`${'a'.repeat(59)} b`)).toBe('a'.repeat(59));
});

test('only what the server takes is a slug', () => {
  for (const good of ['a', 'web-shop', 'team/shop-2', 'a'.repeat(60)]) expect(isSlug(good), good).toBe(true);
  for (const bad of ['', 'Shop', 'a b', '/a', 'a/', 'a//b', 'platform', 'é', 'a'.repeat(61)]) expect(isSlug(bad), bad).toBe(false);
});

test('a taken slug gets a number and stays short enough', () => {
  expect(nextSlug('shop', 1)).toBe('shop-2');
  expect(isSlug(nextSlug('a'.repeat(60), 11))).toBe(true);
});
