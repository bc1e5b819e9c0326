/** Types of events that tell of something that went wrong, as the preset of Activity has them. */
export const errorTypes = 'error,*.error,runtime.fetch.failed';
export const runTypes = 'runtime.interactions.triggered';
export const executionTypes = 'runtime.automations.executed';

const hour = 3_600_000;
const byHour = { date_histogram: { field: '@timestamp', calendar_interval: 'hour' } };

/** One search for all numbers of the last 24 hours. */
export const numbersQuery = {
  query: { range: { '@timestamp': { gte: 'now-24h' } } },
  limit: 0,
  aggs: {
    runs: { filter: { term: { type: runTypes } }, aggs: { hours: byHour } },
    errors: { filter: { bool: { should: [{ terms: { type: ['error', 'runtime.fetch.failed'] } }, { wildcard: { type: '*.error' } }] } }, aggs: { hours: byHour } },
    latency: { filter: { term: { type: executionTypes } }, aggs: { duration: { percentiles: { field: 'payload.duration', percents: [50, 95] } } } },
  },
};

export interface Numbers {
  runs: number;
  runsByHour: number[];
  errors: number;
  errorsByHour: number[];
  /** Executions that the percentiles are of. */
  executions: number;
  p50: number | undefined;
  p95: number | undefined;
}

interface Counted {
  doc_count?: number;
  hours?: { buckets?: { key: number; doc_count: number }[] };
  duration?: { values?: Record<string, number | null> };
}

/** The last 24 hours as one number per hour, hours without an event as 0; the running hour is the last one. */
export function hoursOf(buckets: { key: number; doc_count: number }[] | undefined, now: number): number[] {
  const last = Math.floor(now / hour);
  const counts = new Array<number>(25).fill(0);
  for (const { key, doc_count } of buckets ?? []) {
    const at = 24 - (last - Math.floor(key / hour));
    if (at >= 0 && at < counts.length) counts[at]! += doc_count;
  }
  return counts;
}

/** What the search answered, as the tiles show it. */
export function readNumbers(aggs: Record<string, unknown> | undefined, now: number): Numbers {
  const { runs, errors, latency } = (aggs ?? {}) as Record<string, Counted | undefined>;
  const executions = latency?.doc_count ?? 0;
  const percentile = (name: string): number | undefined => (executions > 0 ? (latency?.duration?.values?.[name] ?? undefined) : undefined);
  return {
    runs: runs?.doc_count ?? 0,
    runsByHour: hoursOf(runs?.hours?.buckets, now),
    errors: errors?.doc_count ?? 0,
    errorsByHour: hoursOf(errors?.hours?.buckets, now),
    executions,
    p50: percentile('50.0'),
    p95: percentile('95.0'),
  };
}
