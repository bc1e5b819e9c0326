import { expect, test } from 'vitest';
import { isTaken, ownAddress, previewOf } from './files.ts';

test('only what cannot run anything is shown inline', () => {
  expect(['image/png', 'text/plain; charset=utf-8', 'application/pdf', 'image/svg+xml', 'text/html', 'application/zip'].map((mimetype) => previewOf({ mimetype }))).toEqual(['image', 'text', 'pdf', 'none', 'none', 'none']);
});

test('files of other servers are not loaded', () => {
  expect(ownAddress('https://a.example/v2/files/w/f.x', 'https://a.example')).toBe('/v2/files/w/f.x');
  expect(ownAddress('https://b.example/v2/files/w/f.x', 'https://a.example')).toBe('');
});

test('types are refused as the server refuses them', () => {
  const taken = (type: string, allowed: string[], forbidden: string[] = []): boolean => isTaken(type, { allowed, forbidden });
  expect(taken('video/mp4', [])).toBe(true);
  expect(taken('video/mp4', [], ['video/*'])).toBe(false);
  expect(taken('Video/MP4; codecs=x', ['video/mp4'])).toBe(true);
  expect(taken('text/plain', ['image/*'])).toBe(false);
  expect(taken('text/plain', ['*/*'], ['text/html'])).toBe(true);
  expect(taken('image/svg+xml', ['image/*'])).toBe(false);
  expect(taken('', ['image/*'])).toBe(true);
});
