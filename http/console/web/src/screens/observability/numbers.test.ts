import { expect, test } from 'vitest';
import { activityQuery, changeOf, failing, numbersQuery, readNumbers, readPeriod, slowest } from './numbers.ts';

const now = Date.UTC(2026, 10, 12, 14, 2, 11);

test('the period is that of the address', () => {
  expect(readPeriod(new URLSearchParams('period=1h'), now)).toEqual({ from: now - 3_600_000, to: now, step: 60_000, moving: true });
  expect(readPeriod(new URLSearchParams('period=nonsense'), now).from).toBe(now - 86_400_000);
  expect(readPeriod(new URLSearchParams('afterDate=2026-11-01T00:00:00Z&beforeDate=2026-11-02T00:00:00Z'), now)).toMatchObject({ moving: false, step: 1_800_000 });
  expect(readPeriod(new URLSearchParams('afterDate=2026-11-03&beforeDate=2026-11-02'), now).moving).toBe(true);
});

test('one search asks for a period and the one before', () => {
  const query = numbersQuery({ from: now - 3_600_000, to: now, step: 60_000, moving: true });
  expect(query.query).toEqual({ range: { '@timestamp': { gte: '2026-11-12T12:02:11.000Z', lt: '2026-11-12T14:02:11.000Z' } } });
});

test('the numbers of an answer', () => {
  const period = { from: 0, to: 180_000, step: 60_000, moving: false };
  const read = readNumbers(
    {
      now: {
        runs: { doc_count: 6, people: { value: 2 }, bars: { buckets: [{ key: 60_000, doc_count: 6 }] } },
        executions: {
          doc_count: 8, failed: { doc_count: 2 }, duration: { values: { '50.0': 10, '95.0': 90, '99.0': 99 } }, bars: { buckets: [{ key: 60_000, doc_count: 8, duration: { values: { '50.0': 10, '95.0': 90 } } }] },
          automations: { buckets: [{ key: 'a', doc_count: 6, failed: { doc_count: 0 }, duration: { values: { '50.0': 5, '95.0': 9 } } }, { key: 'b', doc_count: 2, failed: { doc_count: 2 }, duration: { values: { '50.0': 50, '95.0': 90 } } }] },
        },
        errors: { doc_count: 2, bars: { buckets: [{ key: 60_000, doc_count: 2 }] }, names: { buckets: [{ key: 'Boom', doc_count: 2 }] } },
      },
      before: { runs: { doc_count: 3 } },
    },
    period,
  );
  expect(read.now).toMatchObject({ runs: 6, perMinute: 2, errorRate: 0.25, p99: 99, people: 2 });
  expect(read.before).toMatchObject({ runs: 3, errorRate: undefined, p50: undefined });
  expect(read.moments.map(({ from, runs, errors, p95 }) => [from, runs, errors, p95])).toEqual([[0, 0, 0, undefined], [60_000, 6, 2, 90], [120_000, 0, 0, undefined]]);
  expect(slowest(read.automations).map((one) => one.slug)).toEqual(['b', 'a']);
  expect(failing(read.automations).map((one) => one.slug)).toEqual(['b']);
  expect(read.errorNames).toEqual([{ name: 'Boom', count: 2 }]);
  expect(readNumbers(undefined, period).now.runs).toBe(0);
});

test('changes and links', () => {
  expect(changeOf(6, 3)).toBe(1);
  expect(changeOf(6, 0)).toBeUndefined();
  expect(activityQuery('error', 1000, 2000)).toEqual({ types: 'error', afterDate: '1970-01-01T00:00:00.999Z', beforeDate: '1970-01-01T00:00:02.000Z' });
});
