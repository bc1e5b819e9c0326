/** Matches and fills the paths of the route table. A pattern has `:name` for one segment and `*name` for the whole rest. */
export type Params = Record<string, string>;

/** The parameters of a path that matches the pattern; undefined for another path. An absent rest is an empty text. */
export function matchPath(pattern: string, path: string): Params | undefined {
  const want = pattern.split('/').filter(Boolean);
  const have = path.split('/').filter(Boolean);
  const params: Params = {};
  for (let i = 0; i < want.length; i++) {
    const part = want[i]!;
    if (part.startsWith('*')) {
      params[part.slice(1)] = have.slice(i).map(decode).join('/');
      return params;
    }
    const given = have[i];
    if (given === undefined) return undefined;
    if (part.startsWith(':')) params[part.slice(1)] = decode(given);
    else if (part !== given) return undefined;
  }
  return have.length === want.length ? params : undefined;
}

/** The path of a pattern with these parameters. Slashes in the rest stay slashes. */
export function fillPath(pattern: string, params: Params): string {
  const parts = pattern
    .split('/')
    .filter(Boolean)
    .flatMap((part) => {
      if (part.startsWith(':')) return [encode(params[part.slice(1)] ?? '')];
      if (part.startsWith('*')) return (params[part.slice(1)] ?? '').split('/').filter(Boolean).map(encode);
      return [part];
    });
  return `/${parts.join('/')}`;
}

/** Query text of values; undefined, false and '' are left out, true is written as a bare name. */
export function toQuery(values: Record<string, QueryValue>): string {
  const parts = Object.entries(values).flatMap(([name, value]) => {
    if (value === undefined || value === false || value === '') return [];
    if (value === true) return [encodeURIComponent(name)];
    return (Array.isArray(value) ? value : [String(value)]).map((one) => `${encodeURIComponent(name)}=${encodeURIComponent(one).replace(/%2C/g, ',').replace(/%3A/g, ':').replace(/%2F/g, '/')}`);
  });
  return parts.length > 0 ? `?${parts.join('&')}` : '';
}
export type QueryValue = string | number | boolean | string[] | undefined;

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
// `slug:name` stays readable.
const encode = (text: string): string => encodeURIComponent(text).replace(/%3A/g, ':');
