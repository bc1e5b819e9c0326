import { beforeAll, describe, expect, it } from 'vitest';
import { loadMessages, useLanguage } from '../../lib/i18n.svelte.ts';
import { linesOf } from './lines.ts';
import { idOfAddress, isCredential, secretOf, sourceFault, summaryOf, withinSource, withScheme, type Crawl } from './sources.ts';

beforeAll(async () => {
  await useLanguage('en');
  await loadMessages('sources');
});

describe('sources', () => {
  it('get an id from their address that is free', () => {
    expect(idOfAddress('https://www.Docs.example.com:8443/a?b', [])).toBe('docs-example-com-8443');
    expect(idOfAddress('docs.example.com', ['docs-example-com'])).toBe('docs-example-com-2');
    expect(idOfAddress('https://Ä/', [])).toBe('site');
    expect(idOfAddress(`https://${'a'.repeat(80)}.com`, ['a'.repeat(36)])).toBe(`${'a'.repeat(36)}-2`);
  });

  it('take addresses without a scheme', () => {
    expect(withScheme(' docs.example.com/a ')).toBe('https://docs.example.com/a');
    expect(withScheme('http://localhost:3199/')).toBe('http://localhost:3199/');
    expect(withScheme('ftp://x')).toBe('ftp://x');
  });

  it('find their faults by either way to write a path', () => {
    expect(withinSource('sources.site.urls[0]', 'site')).toBe('urls[0]');
    expect(withinSource('sources["my-site"].headers["X-Key"]', 'my-site')).toBe('headers["X-Key"]');
    expect(withinSource('sources.site', 'site')).toBe('');
    expect(withinSource('sources.site2.urls', 'site')).toBeUndefined();
    expect(withinSource('chunking.size', 'site')).toBeUndefined();
  });

  it('say faults in plain words, with the line of a list', () => {
    expect(sourceFault('urls[1]', 'must be an http or https URL of at most 2048 characters, without user name and password')).toMatch(/^Line 2: An address/);
    expect(sourceFault('schedule', 'must not begin more often than every 1h0m0s (CRAWLER_MIN_PERIOD)')).toBe('Not more often than every 1h.');
    expect(sourceFault('maxPages', 'must be at most 5000 (CRAWLER_MAX_PAGES)')).toBe('At most 5000.');
  });

  it('never take a credential as text', () => {
    expect(['Authorization', 'cookie', 'X-Api-Key', 'x-token', 'Client-Secret'].every(isCredential)).toBe(true);
    expect(isCredential('X-Team')).toBe(false);
    expect(secretOf('{{secret.SITE}}')).toBe('SITE');
    expect(secretOf('Bearer {{secret.SITE}}')).toBe('');
  });
});

describe('a crawl', () => {
  it('is summed up', () => {
    const counts = { queued: 6, fetched: 4, created: 3, updated: 0, unchanged: 0, duplicates: 1, skipped: 1, failed: 0, deleted: 0, bytes: 9 };
    expect(summaryOf({ counts } as Crawl)).toBe('5 pages: 3 new, 1 duplicate, 1 left out');
  });
});

describe('lines', () => {
  it('that say nothing are none', () => {
    expect(linesOf(' a \n\n b')).toEqual(['a', 'b']);
    expect(linesOf(' \n')).toBeUndefined();
  });
});
