import { expect, test } from 'vitest';
import { fillPath, matchPath, toQuery } from './path.ts';

test('the slug is the whole rest of the path', () => {
  expect(matchPath('/w/:id/automations/*slug', '/w/abc/automations/pay%20now/charge')).toEqual({ id: 'abc', slug: 'pay now/charge' });
  expect(matchPath('/w/:id/automations/*slug', '/w/abc/automations')).toEqual({ id: 'abc', slug: '' });
  expect(matchPath('/w/:id', '/w/abc/automations')).toBeUndefined();
  expect(matchPath('/w/:id', '/w')).toBeUndefined();
  expect(matchPath('/', '/')).toEqual({});
});

test('filling is the reverse of matching', () => {
  const params = { id: 'slug:shop', slug: 'a b/ü%/100%' };
  const path = fillPath('/w/:id/pages/*slug', params);
  expect(path).toBe('/w/slug:shop/pages/a%20b/%C3%BC%25/100%25');
  expect(matchPath('/w/:id/pages/*slug', path)).toEqual(params);
});

test('queries leave out what is empty', () => {
  expect(toQuery({ tab: 'runs', new: true, page: 0, old: false, none: undefined, text: '', types: 'a,b.*' })).toBe('?tab=runs&new&page=0&types=a,b.*');
  expect(toQuery({ 'source.userId': ['a', 'b c'] })).toBe('?source.userId=a&source.userId=b%20c');
  expect(toQuery({})).toBe('');
});
