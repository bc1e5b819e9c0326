import { describe, expect, test } from 'vitest';
import { toQuery } from '../../lib/path.ts';
import { apiQuery, barLength, emptyFilter, fillBars, filterQuery, intervalText, presetOf, presets, readFilter, readTyped, searchFilter, withPreset } from './filter.ts';

const read = (text: string) => readFilter(new URLSearchParams(text));
const address = (text: string) => toQuery(filterQuery(read(text)));

describe('the filter is the address', () => {
  test('what is read is written again', () => {
    for (const text of [
      '?types=error,*.error&text=two%20words&period=1h',
      '?afterDate=2026-11-12T00:00:00.000Z&beforeDate=2026-11-13T00:00:00.000Z&appInstanceDepth=-1',
      '?payload.status=paid&payload.status=late&source.userId',
    ]) expect(address(text)).toBe(text);
  });
  test('what is no filter is left out, and wrong values are', () => {
    expect(address('?event=01&view=tree&afterDate=yesterday&appInstanceDepth=x&period=2y')).toBe('');
  });
  test('ends of its own count more than a period', () => {
    expect(read('?period=1h&beforeDate=2026-11-13T00:00:00Z').period).toBe('');
  });
});

test('the API is asked for the same, streams without times', () => {
  const now = Date.parse('2026-11-12T10:00:00Z');
  const filter = read('?types=error&period=1h&payload.a=1&payload.a=2&source.userId');
  expect(apiQuery(filter, now).toString()).toBe('types=error&afterDate=2026-11-12T09%3A00%3A00.000Z&payload.a=1&payload.a=2&source.userId=');
  expect(apiQuery(filter, now, false).toString()).toBe('types=error&payload.a=1&payload.a=2&source.userId=');
  expect(searchFilter(filter, now, undefined)).toEqual({ types: 'error', afterDate: '2026-11-12T10:00:00.000Z', appInstanceDepth: 1, 'payload.a': ['1', '2'], 'source.userId': [''] });
});

test('presets are found again and keep words and period', () => {
  for (const { id } of presets) expect(presetOf(withPreset(emptyFilter, id, 'me'), 'me')).toBe(id);
  const kept = withPreset(read('?text=a&period=1h&payload.x=1&source.userId=me'), 'errors', 'me');
  expect(toQuery(filterQuery(kept))).toBe('?types=error,*.error,runtime.fetch.failed&text=a&period=1h&payload.x=1');
  expect(presetOf(read('?types=other'), 'me')).toBeUndefined();
});

test('typed text gives words, paths and types', () => {
  const filter = readTyped(emptyFilter, 'late payload.city="New York" type:error,x.* order');
  expect(filter).toMatchObject({ text: 'late order', types: ['error', 'x.*'], paths: [{ path: 'payload.city', values: ['New York'] }] });
});

test('about sixty bars fill any period', () => {
  for (const period of [60_000, 900_000, 3_600_000, 86_400_000, 7 * 86_400_000, 30 * 86_400_000]) {
    const bars = fillBars(1e12, 1e12 + period, barLength(period), new Map());
    expect(bars.length).toBeGreaterThan(20);
    expect(bars.length).toBeLessThan(64);
  }
  expect([1000, 300_000, 10_800_000, 86_400_000].map(intervalText)).toEqual(['1s', '5m', '3h', '1d']);
});
