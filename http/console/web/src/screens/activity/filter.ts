import type { QueryValue } from '../../lib/path.ts';

/*
 * The filter of the activity is the address of the screen: the parameters of a list of events
 * (api 7.3), and `period` for one that ends now and moves on.
 */
export interface Filter {
  types: string[];
  text: string;
  /** One of `periods`; empty when there is none or it has ends of its own. */
  period: string;
  afterDate: string;
  beforeDate: string;
  /** Highest depth of app instances; empty for the usual 1, -1 for all. */
  depth: string;
  /** Dotted paths with the texts that they may have; an empty text means that nothing is there. */
  paths: { path: string; values: string[] }[];
}

export const periods: Record<string, number> = {
  '15m': 15 * 60_000,
  '1h': 3_600_000,
  '24h': 24 * 3_600_000,
  '7d': 7 * 24 * 3_600_000,
  '30d': 30 * 24 * 3_600_000,
};

/** The one table of presets. `mine` stands for the caller's events. */
export const presets = [
  { id: 'all', types: '' },
  { id: 'errors', types: 'error,*.error,runtime.fetch.failed' },
  { id: 'webhooks', types: 'runtime.webhooks.triggered' },
  { id: 'runs', types: 'runtime.interactions.triggered' },
  { id: 'edits', types: 'workspaces.*' },
  { id: 'sharing', types: 'workspaces.permissions.*,workspaces.pages.permissions.*,workspaces.security.updated,apikeys.*' },
  { id: 'versions', types: 'workspaces.versions.*,workspaces.imported,workspaces.locked,workspaces.unlocked' },
  { id: 'mine', types: '' },
] as const;
export type PresetId = (typeof presets)[number]['id'];

export const emptyFilter: Filter = { types: [], text: '', period: '', afterDate: '', beforeDate: '', depth: '', paths: [] };

/** Paths of which people filter most, offered while one is typed. */
export const commonPaths = [
  'source.automationSlug', 'source.userId', 'source.correlationId', 'source.sessionId', 'source.executionId', 'source.appInstanceFullSlug',
  'source.appSlug', 'source.http.method', 'source.http.path', 'target.userId', 'error.error', 'error.level', 'payload.slug', 'payload.trigger.type',
];

const splitTypes = (text: string): string[] => text.split(',').map((one) => one.trim()).filter(Boolean);

/** The filter of an address. Parameters that are none, such as the open event, are left alone. */
export function readFilter(query: URLSearchParams): Filter {
  const period = query.get('period') ?? '';
  const afterDate = query.get('afterDate') ?? '';
  const beforeDate = query.get('beforeDate') ?? '';
  const paths = [...new Set(query.keys())].filter((name) => name.includes('.')).map((path) => ({ path, values: query.getAll(path) }));
  return {
    types: splitTypes(query.getAll('types').join(',')),
    text: query.get('text') ?? '',
    // Ends of its own count more than a period.
    period: period in periods && !afterDate && !beforeDate ? period : '',
    afterDate: isTime(afterDate) ? afterDate : '',
    beforeDate: isTime(beforeDate) ? beforeDate : '',
    depth: /^-?\d+$/.test(query.get('appInstanceDepth') ?? '') ? query.get('appInstanceDepth')! : '',
    paths,
  };
}

export function isTime(text: string): boolean {
  return text !== '' && !Number.isNaN(Date.parse(text));
}

/** The parameters of an address with this filter. */
export function filterQuery(filter: Filter): Record<string, QueryValue> {
  return {
    types: filter.types.join(','),
    text: filter.text,
    period: filter.period,
    afterDate: filter.afterDate,
    beforeDate: filter.beforeDate,
    appInstanceDepth: filter.depth,
    ...Object.fromEntries(filter.paths.map(({ path, values }) => [path, values.length === 1 ? (values[0] === '' ? true : values[0]) : values])),
  };
}

/** First and last moment that the filter lets through; undefined where it has no end. */
export function rangeOf(filter: Filter, now: number): { from: number | undefined; to: number | undefined } {
  if (filter.period) return { from: now - periods[filter.period]!, to: undefined };
  return { from: filter.afterDate ? Date.parse(filter.afterDate) : undefined, to: filter.beforeDate ? Date.parse(filter.beforeDate) : undefined };
}

/** What the API is asked for: for a list, an export, or (without times) a stream. */
export function apiQuery(filter: Filter, now: number, withTimes = true): URLSearchParams {
  const query = new URLSearchParams();
  if (filter.types.length > 0) query.set('types', filter.types.join(','));
  if (filter.text) query.set('text', filter.text);
  const { from, to } = rangeOf(filter, now);
  if (withTimes && from !== undefined) query.set('afterDate', new Date(from).toISOString());
  if (withTimes && to !== undefined) query.set('beforeDate', new Date(to).toISOString());
  if (filter.depth) query.set('appInstanceDepth', filter.depth);
  for (const { path, values } of filter.paths) for (const value of values) query.append(path, value);
  return query;
}

/** The same for a search, whose body has a filter: counts and histograms are of what the list shows. */
export function searchFilter(filter: Filter, from: number | undefined, to: number | undefined): Record<string, unknown> {
  return {
    ...(filter.types.length > 0 ? { types: filter.types.join(',') } : {}),
    ...(filter.text ? { text: filter.text } : {}),
    ...(from !== undefined ? { afterDate: new Date(from).toISOString() } : {}),
    ...(to !== undefined ? { beforeDate: new Date(to).toISOString() } : {}),
    // A list leaves out what is deep inside of apps unless told otherwise, a search does not.
    appInstanceDepth: Number(filter.depth || 1),
    ...Object.fromEntries(filter.paths.map(({ path, values }) => [path, values])),
  };
}

/** The filter as it was at a moment: nothing later, and periods end there. */
export function atMoment(filter: Filter, at: string | undefined): Filter {
  if (!at || !isTime(at)) return filter;
  const end = new Date(at).toISOString();
  const begin = filter.period ? new Date(Date.parse(at) - periods[filter.period]!).toISOString() : filter.afterDate;
  return { ...filter, period: '', afterDate: begin, beforeDate: filter.beforeDate && filter.beforeDate < end ? filter.beforeDate : end };
}

export function isEmpty(filter: Filter): boolean {
  return filter.types.length === 0 && !filter.text && !filter.period && !filter.afterDate && !filter.beforeDate && !filter.depth && filter.paths.length === 0;
}

const withoutUser = (filter: Filter): Filter['paths'] => filter.paths.filter(({ path }) => path !== 'source.userId');

/** The preset that the filter has, if it is one: words and period may stand beside it. */
export function presetOf(filter: Filter, me: string): PresetId | undefined {
  const types = filter.types.join(',');
  const users = filter.paths.find(({ path }) => path === 'source.userId')?.values;
  if (users) return types === '' && users.length === 1 && users[0] === me ? 'mine' : undefined;
  return presets.find((preset) => preset.id !== 'mine' && preset.types === types)?.id;
}

/** The filter with another preset: words, period and other paths stay. */
export function withPreset(filter: Filter, id: PresetId, me: string): Filter {
  const preset = presets.find((one) => one.id === id)!;
  return { ...filter, types: splitTypes(preset.types), paths: id === 'mine' ? [...withoutUser(filter), { path: 'source.userId', values: [me] }] : withoutUser(filter) };
}

/** The filter with one more value of a path, and without it. */
export function withPath(filter: Filter, path: string, value: string): Filter {
  const known = filter.paths.find((one) => one.path === path);
  if (known?.values.includes(value)) return filter;
  if (known) return { ...filter, paths: filter.paths.map((one) => (one === known ? { path, values: [...known.values, value] } : one)) };
  return { ...filter, paths: [...filter.paths, { path, values: [value] }] };
}
export function withoutPath(filter: Filter, path: string): Filter {
  return { ...filter, paths: filter.paths.filter((one) => one.path !== path) };
}

/**
 * What is typed into the field of the filter: words, and `path=value` or `type:name` in between,
 * which become parts of the filter of their own.
 */
export function readTyped(filter: Filter, typed: string): Filter {
  let next = { ...filter, text: '' };
  const words: string[] = [];
  for (const token of typed.match(/\S+="[^"]*"|\S+/g) ?? []) {
    const path = /^([A-Za-z_$@][\w$@-]*(?:\.[\w$@[\]-]+)+)=(.*)$/.exec(token);
    const type = /^types?:(.+)$/.exec(token);
    if (path) next = withPath(next, path[1]!, path[2]!.replace(/^"(.*)"$/, '$1'));
    else if (type) next = { ...next, types: [...new Set([...next.types, ...splitTypes(type[1]!)])] };
    else words.push(token);
  }
  return { ...next, text: words.join(' ') };
}

const steps = [1, 5, 15, 30].map((s) => s * 1000).concat([1, 5, 15, 30].map((m) => m * 60_000), [1, 3, 6, 12].map((h) => h * 3_600_000), [1, 7, 30, 90].map((d) => d * 86_400_000));

/** Length of a bar in ms, so that about sixty of them fill a period. */
export function barLength(period: number): number {
  return steps.find((step) => period / step <= 62) ?? steps[steps.length - 1]!;
}

/** As the search writes it: `30s`, `5m`, `3h`, `1d`. */
export function intervalText(ms: number): string {
  if (ms % 86_400_000 === 0) return `${ms / 86_400_000}d`;
  if (ms % 3_600_000 === 0) return `${ms / 3_600_000}h`;
  return ms % 60_000 === 0 ? `${ms / 60_000}m` : `${ms / 1000}s`;
}

export interface Bar {
  from: number;
  to: number;
  count: number;
  errors: number;
}

/** The bars of a period: the counted ones, and empty ones between them. */
export function fillBars(from: number, to: number, step: number, counted: Map<number, { count: number; errors: number }>): Bar[] {
  const bars: Bar[] = [];
  for (let at = Math.floor(from / step) * step; at < to; at += step) bars.push({ from: at, to: at + step, ...(counted.get(at) ?? { count: 0, errors: 0 }) });
  return bars;
}

/* Filters that the person has named, in this browser. */
export interface NamedFilter {
  name: string;
  query: string;
}
const storageKey = 'svc-filters';

export function namedFilters(): NamedFilter[] {
  try {
    const stored = JSON.parse(localStorage.getItem(storageKey) ?? '[]') as unknown;
    return Array.isArray(stored) ? stored.filter((one): one is NamedFilter => typeof one?.name === 'string' && typeof one?.query === 'string') : [];
  } catch {
    return [];
  }
}

/** Stores them; false when the browser does not let us. */
export function storeFilters(filters: NamedFilter[]): boolean {
  try {
    localStorage.setItem(storageKey, JSON.stringify(filters));
    return true;
  } catch {
    return false;
  }
}
