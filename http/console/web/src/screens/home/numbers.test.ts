import { expect, test } from 'vitest';
import { hoursOf, readNumbers } from './numbers.ts';

const now = Date.UTC(2026, 10, 17, 8, 30);
const at = (hours: number): number => Date.UTC(2026, 10, 17, 8 - hours);

test('hours without an event are 0, and what is older is left out', () => {
  const counts = hoursOf([{ key: at(0), doc_count: 3 }, { key: at(2), doc_count: 5 }, { key: at(24), doc_count: 7 }, { key: at(30), doc_count: 9 }], now);
  expect(counts).toHaveLength(25);
  expect([counts[24], counts[23], counts[22], counts[0]]).toEqual([3, 0, 5, 7]);
  expect(counts.reduce((a, b) => a + b)).toBe(15);
});

test('numbers are read out of the aggregations', () => {
  const numbers = readNumbers(
    {
      runs: { doc_count: 2, hours: { buckets: [{ key: at(1), doc_count: 2 }] } },
      errors: { doc_count: 1, hours: { buckets: [] } },
      latency: { doc_count: 4, duration: { values: { '50.0': 3, '95.0': 12.5 } } },
    },
    now,
  );
  expect(numbers).toMatchObject({ runs: 2, errors: 1, executions: 4, p50: 3, p95: 12.5 });
});

test('without executions there is no percentile, although the server says 0', () => {
  expect(readNumbers({ latency: { doc_count: 0, duration: { values: { '95.0': 0 } } } }, now).p95).toBeUndefined();
  expect(readNumbers(undefined, now)).toMatchObject({ runs: 0, errors: 0, p95: undefined });
});
