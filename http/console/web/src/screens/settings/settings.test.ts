import { expect, test } from 'vitest';
import { dnsLine, isDomain, ownPicture, partsOf, settingsOf } from './settings.ts';

test('reads the parts of an index that a form shows', () => {
  expect(settingsOf('text')).toBeUndefined();
  expect(settingsOf([])).toBeUndefined();
  expect(partsOf({ name: 'Shop', config: {} }, { properties: { name: {}, slug: {} } })).toEqual({ name: 'Shop' });
});

test('a domain has its DNS line', () => {
  expect(dnsLine('shop.example.org', 'svc.example.com')).toBe('shop.example.org. CNAME svc.example.com.');
  expect(dnsLine('shop.example.org', '10.0.0.7')).toBe('shop.example.org. A 10.0.0.7');
  expect(dnsLine('shop.example.org', '[2001:db8::7]')).toBe('shop.example.org. AAAA 2001:db8::7');
});

test('a domain is a host name with a dot', () => {
  expect(['shop.example.org', 'a-b.example'].every(isDomain)).toBe(true);
  expect(['shop', 'Shop.example.org', 'https://shop.example.org', '-a.example', 'a.b.1', ''].some(isDomain)).toBe(false);
});

test('only pictures of this server are shown', () => {
  expect(ownPicture('/v2/files/a/b.png')).toBe('/v2/files/a/b.png');
  expect(ownPicture('//elsewhere.example/x.png')).toBe('');
  expect(ownPicture('https://elsewhere.example/x.png')).toBe('');
});
