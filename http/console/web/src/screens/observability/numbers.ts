import type { QueryValue } from '../../lib/path.ts';
import { barLength, intervalText, isTime, periods } from '../activity/filter.ts';

export { periods };
/** The periods that are offered; any other one has ends of its own. */
export const offered = ['1h', '24h', '7d', '30d'] as const;

export const runType = 'runtime.interactions.triggered';
export const executionType = 'runtime.automations.executed';
export const endpointType = 'runtime.webhooks.triggered';
export const errorTypes = 'error,*.error,runtime.fetch.failed';
const isError = { bool: { should: [{ terms: { type: ['error', 'runtime.fetch.failed'] } }, { wildcard: { type: '*.error' } }] } };

/** What is looked at. */
export interface Period {
  from: number;
  to: number;
  /** Length of a bar. */
  step: number;
  /** It ends now and moves on. */
  moving: boolean;
}

/** The period of an address: one of those that are offered, or ends of its own. */
export function readPeriod(query: URLSearchParams, now: number): Period {
  const [after, before] = [query.get('afterDate') ?? '', query.get('beforeDate') ?? ''];
  if (isTime(after) && isTime(before) && Date.parse(after) < Date.parse(before)) {
    const [from, to] = [Date.parse(after), Date.parse(before)];
    return { from, to, step: barLength(to - from), moving: false };
  }
  const length = periods[query.get('period') ?? ''] ?? periods['24h']!;
  return { from: now - length, to: now, step: barLength(length), moving: true };
}

const iso = (ms: number): string => new Date(ms).toISOString();

/** One search for all numbers of a period and of the one before it. */
export function numbersQuery({ from, to, step }: Period): Record<string, unknown> {
  const bars = (aggs?: Record<string, unknown>): Record<string, unknown> => ({ date_histogram: { field: '@timestamp', fixed_interval: intervalText(step) }, ...(aggs ? { aggs } : {}) });
  const duration = (...percents: number[]): Record<string, unknown> => ({ percentiles: { field: 'payload.duration', percents } });
  const failed = { filter: { exists: { field: 'payload.error' } } };
  const parts = (whole: boolean): Record<string, unknown> => ({
    runs: { filter: { term: { type: runType } }, aggs: { people: { cardinality: { field: 'source.userId' } }, ...(whole ? { bars: bars() } : {}) } },
    executions: {
      filter: { term: { type: executionType } },
      aggs: { failed, duration: duration(50, 95, 99), ...(whole ? { bars: bars({ duration: duration(50, 95) }), automations: { terms: { field: 'payload.slug', size: 500 }, aggs: { failed, duration: duration(50, 95) } } } : {}) },
    },
    errors: { filter: isError, ...(whole ? { aggs: { bars: bars(), names: { terms: { field: 'payload.error', size: 10 } } } } : {}) },
    ...(whole ? { endpoints: { filter: { term: { type: endpointType } }, aggs: { names: { terms: { field: 'payload.endpoint', size: 10 } } } } } : {}),
  });
  return {
    query: { range: { '@timestamp': { gte: iso(from - (to - from)), lt: iso(to) } } },
    limit: 0,
    aggs: {
      now: { filter: { range: { '@timestamp': { gte: iso(from) } } }, aggs: parts(true) },
      before: { filter: { range: { '@timestamp': { lt: iso(from) } } }, aggs: parts(false) },
    },
  };
}

/** The numbers that the cards show. */
export interface Totals {
  runs: number;
  perMinute: number;
  executions: number;
  failed: number;
  /** Share of executions that failed, from 0 to 1; undefined without any. */
  errorRate: number | undefined;
  p50: number | undefined;
  p95: number | undefined;
  p99: number | undefined;
  people: number;
  errors: number;
}

export interface AutomationNumbers {
  slug: string;
  executions: number;
  failed: number;
  p50: number | undefined;
  p95: number | undefined;
}

/** One bar of the charts. */
export interface Moment {
  from: number;
  to: number;
  runs: number;
  errors: number;
  p50: number | undefined;
  p95: number | undefined;
}

export interface Numbers {
  now: Totals;
  before: Totals;
  moments: Moment[];
  errorNames: { name: string; count: number }[];
  endpoints: { name: string; count: number }[];
  automations: AutomationNumbers[];
}

interface Bucket {
  key: number | string;
  doc_count: number;
  failed?: { doc_count: number };
  duration?: { values?: Record<string, number | null> };
}
interface Part {
  doc_count?: number;
  people?: { value?: number };
  failed?: { doc_count?: number };
  duration?: { values?: Record<string, number | null> };
  bars?: { buckets?: Bucket[] };
  names?: { buckets?: Bucket[] };
  automations?: { buckets?: Bucket[] };
}
type Parts = Partial<Record<'runs' | 'executions' | 'errors' | 'endpoints', Part>>;

const percentile = (of: { duration?: { values?: Record<string, number | null> }; doc_count?: number } | undefined, name: string): number | undefined => ((of?.doc_count ?? 0) > 0 ? (of?.duration?.values?.[name] ?? undefined) : undefined);

function totalsOf(parts: Parts, minutes: number): Totals {
  const executions = parts.executions?.doc_count ?? 0;
  const failed = parts.executions?.failed?.doc_count ?? 0;
  const runs = parts.runs?.doc_count ?? 0;
  return {
    runs, executions, failed, perMinute: runs / minutes, errorRate: executions > 0 ? failed / executions : undefined,
    p50: percentile(parts.executions, '50.0'), p95: percentile(parts.executions, '95.0'), p99: percentile(parts.executions, '99.0'),
    people: parts.runs?.people?.value ?? 0, errors: parts.errors?.doc_count ?? 0,
  };
}

/** What the search answered, as the screen shows it. */
export function readNumbers(aggs: Record<string, unknown> | undefined, period: Period): Numbers {
  const { now = {}, before = {} } = (aggs ?? {}) as { now?: Parts; before?: Parts };
  const minutes = (period.to - period.from) / 60_000;
  const byTime = (part: Part | undefined): Map<number, Bucket> => new Map((part?.bars?.buckets ?? []).map((bucket) => [Number(bucket.key), bucket]));
  const [runs, errors, executions] = [byTime(now.runs), byTime(now.errors), byTime(now.executions)];
  const moments: Moment[] = [];
  for (let at = Math.floor(period.from / period.step) * period.step; at < period.to; at += period.step) {
    moments.push({ from: at, to: at + period.step, runs: runs.get(at)?.doc_count ?? 0, errors: errors.get(at)?.doc_count ?? 0, p50: percentile(executions.get(at), '50.0'), p95: percentile(executions.get(at), '95.0') });
  }
  const named = (part: Part | undefined): { name: string; count: number }[] => (part?.names?.buckets ?? []).map((bucket) => ({ name: String(bucket.key), count: bucket.doc_count }));
  return {
    now: totalsOf(now, minutes), before: totalsOf(before, minutes), moments, errorNames: named(now.errors), endpoints: named(now.endpoints),
    automations: (now.executions?.automations?.buckets ?? []).map((bucket) => ({ slug: String(bucket.key), executions: bucket.doc_count, failed: bucket.failed?.doc_count ?? 0, p50: percentile(bucket, '50.0'), p95: percentile(bucket, '95.0') })),
  };
}

/** The slowest automations, and those that fail most. */
export const slowest = (list: AutomationNumbers[]): AutomationNumbers[] => [...list].filter((one) => one.p95 !== undefined).sort((a, b) => b.p95! - a.p95!).slice(0, 10);
export const failing = (list: AutomationNumbers[]): AutomationNumbers[] => list.filter((one) => one.failed > 0).sort((a, b) => b.failed - a.failed || b.failed / b.executions - a.failed / a.executions).slice(0, 10);

/** By how much a number differs from that of the period before, as a share of it; undefined where there is nothing to compare with. */
export function changeOf(now: number | undefined, before: number | undefined): number | undefined {
  return now === undefined || before === undefined || before === 0 ? undefined : (now - before) / before;
}

/** The query of Activity for a part of the period. */
export function activityQuery(types: string, from: number, to: number, more: Record<string, QueryValue> = {}): Record<string, QueryValue> {
  // Both ends are exclusive there.
  return { types, afterDate: iso(from - 1), beforeDate: iso(to), ...more };
}
