import createClient from 'openapi-fetch';
import { apiBase } from '../page.ts';
import { ApiError, refusalOf } from './errors.ts';
import type { components, paths } from './schema.d.ts';

export { ApiError, asApiError, type FieldFault } from './errors.ts';

/** A resource of the API by its name in the OpenAPI document. */
export type Schema<Name extends keyof components['schemas']> = components['schemas'][Name];

/** What the client tells the rest of the console. Set once, in main.ts. */
export const hooks = {
  /** 401: the session is over, or wants its second step. */
  sessionEnded: (_error: ApiError): void => {},
  /** A request waits (server busy) or asks again because its outcome is not known. Call the result when it is over. */
  waiting: (_wait: { kind: 'busy' | 'not_known'; until: number }): (() => void) => () => {},
};

let csrf = '';
/** Positions of the writes of this tab, with their correlation ids: a write that changed nothing answers a position that may be of somebody else's event. */
const ownWrites = new Map<string, string>();

function rememberWrite(headers: Headers): void {
  const seq = headers.get('x-svc-seq');
  if (!seq) return;
  ownWrites.delete(seq);
  ownWrites.set(seq, headers.get('x-correlation-id') ?? '');
  if (ownWrites.size > 500) ownWrites.delete(ownWrites.keys().next().value!);
}

/** Whether an event was caused by a write of this tab. */
export function isOwnEvent(event: Schema<'Event'>): boolean {
  const id = ownWrites.get(event.seq);
  return id !== undefined && id === event.source.correlationId;
}

let latest = { seq: '', at: 0 };

/**
 * The position of an answer of the last minute, '' without one. Reads that begin now contain at
 * least what was before it, and a stream that begins there sends what comes after it.
 */
export function latestSeq(): string {
  return Date.now() - latest.at < 60_000 ? latest.seq : '';
}

/** Called with the header of a sign-in, so that the first write needs no read before it. */
export function setCsrf(token: string | null): void {
  csrf = token ?? '';
}

const isWrite = (method: string): boolean => method !== 'GET' && method !== 'HEAD';

/** Reads the CSRF token of the session anew. */
async function fetchCsrf(): Promise<void> {
  const response = await fetch(`${apiBase}/v2/me`, { credentials: 'same-origin' });
  setCsrf(response.headers.get('x-svc-csrf-token'));
}

const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    }, { once: true });
  });

/** How long a request waits by itself for a busy server; above it the screen decides. */
const longestWait = 60;

/**
 * Sends a request as every request of the console is sent: with the cookie, the CSRF token and
 * an `Idempotency-Key` on writes. It asks again by itself where that is safe: once for a new
 * CSRF token, after `Retry-After` of 429 and 503, and up to twice for a write whose outcome is
 * not known, with the same key. Other refusals are thrown as ApiError.
 */
export async function send(original: Request, patient = true): Promise<Response> {
  const route = `${original.method} ${new URL(original.url).pathname}`;
  const write = isWrite(original.method);
  const headers = new Headers(original.headers);
  if (write && !headers.has('Idempotency-Key')) headers.set('Idempotency-Key', newKey());

  let csrfAsked = false;
  let busyTries = 0;
  for (let unknownTries = 0; ; ) {
    if (write && csrf) headers.set('x-svc-csrf-token', csrf);
    let response: Response;
    try {
      response = await fetch(new Request(original.clone(), { headers, credentials: 'same-origin' }));
    } catch (error) {
      if (original.signal.aborted) throw error;
      if (!write) throw new ApiError(0, 'offline', String(error), {}, '', 0, route);
      if (!patient || unknownTries >= 2) throw new ApiError(0, 'not_known', String(error), {}, '', 0, route);
      await waitWith('not_known', ++unknownTries * 2, original.signal);
      continue;
    }
    if (response.ok || response.status === 304) {
      const seq = response.headers.get('x-svc-seq');
      if (seq) latest = { seq, at: Date.now() };
      if (write) rememberWrite(response.headers);
      return response;
    }
    const refusal = await refusalOf(response, route);
    if (refusal.status === 401) {
      if (refusal.reason === 'csrf' && !csrfAsked) {
        csrfAsked = true;
        await fetchCsrf();
        continue;
      }
      const aboutSession = refusal.code !== 'invalid_credentials' || refusal.reason === 'mfa_required';
      if (aboutSession && patient) hooks.sessionEnded(refusal);
      throw refusal;
    }
    const busy = refusal.status === 429 || refusal.status === 503;
    if (patient && busy && refusal.retryAfter > 0 && refusal.retryAfter <= longestWait && busyTries < 5) {
      busyTries++;
      await waitWith('busy', refusal.retryAfter, original.signal);
      continue;
    }
    if (patient && write && refusal.status === 504 && unknownTries < 2) {
      await waitWith('not_known', ++unknownTries * 2, original.signal);
      continue;
    }
    throw refusal;
  }
}

async function waitWith(kind: 'busy' | 'not_known', seconds: number, signal: AbortSignal): Promise<void> {
  const over = hooks.waiting({ kind, until: Date.now() + seconds * 1000 });
  try {
    await pause(seconds * 1000, signal);
  } finally {
    over();
  }
}

/** A key for one intended write; give the same to a repetition of it. */
export function newKey(): string {
  return crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join('');
}

/**
 * The typed client. A call throws ApiError when it is refused:
 *
 *     const { data, etag } = await answer(api.GET('/v2/workspaces/{workspaceId}', { params: { path: { workspaceId } } }));
 */
export const api = createClient<paths>({
  baseUrl: apiBase || (typeof location === 'undefined' ? 'http://console.test' : location.origin),
  fetch: (request) => send(request),
});

/** For `fetch:` of a call that must not wait or open the sign-in dialog by itself: sign-in, probes. */
export const sendOnce = (request: Request): Promise<Response> => send(request, false);

/** An answer with what its headers say. */
export interface Answer<T> {
  data: T;
  response: Response;
  /** For If-Match. */
  etag: string;
  /** Position of a write (Undo, `x-svc-min-seq`), or what a read contains at least. */
  seq: string;
  /** Matches in all (`x-total-count`); undefined where the list does not count. */
  total: number | undefined;
}

export async function answer<T>(call: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<Answer<T>> {
  const { data, response } = await call;
  const total = response.headers.get('x-total-count');
  return {
    data: data as T,
    response,
    etag: response.headers.get('etag') ?? '',
    seq: response.headers.get('x-svc-seq') ?? '',
    total: total === null ? undefined : Number(total),
  };
}

/** Headers of a write: `If-Match` for documents, `key` to repeat an earlier try. */
export function writeHeaders(options: { ifMatch?: string; key?: string }): Record<string, string> {
  return {
    ...(options.ifMatch ? { 'If-Match': options.ifMatch } : {}),
    ...(options.key ? { 'Idempotency-Key': options.key } : {}),
  };
}

/**
 * Options for a document as YAML text. The text is the document: it never passes through an
 * object, which would change the order of its keys.
 *
 *     const { data } = await answer(api.GET('/v2/workspaces/{workspaceId}/automations/{slug}', { params, ...asYaml }));
 */
export const asYaml = {
  parseAs: 'text',
  headers: { Accept: 'application/yaml' },
} as const;

/**
 * Options for a write of a document as YAML text. The answer is text too.
 *
 *     await answer(api.PUT('/v2/…/automations/{slug}', { params, ...yamlBody(text, { ifMatch: etag }) }));
 */
export function yamlBody(text: string, options: { ifMatch?: string; key?: string } = {}) {
  return {
    // The document describes the parsed body, the text is what is sent.
    body: text as never,
    bodySerializer: () => text,
    parseAs: 'text' as const,
    headers: { Accept: 'application/yaml', 'Content-Type': 'application/yaml', ...writeHeaders(options) },
  };
}

/**
 * The address of a route of the API, for what is not a call: streams, downloads, uploads.
 *
 *     urlOf('/v2/workspaces/{workspaceId}/export', { workspaceId })
 */
export function urlOf<Path extends keyof paths>(
  path: Path,
  params: Record<string, string> = {},
  query: Record<string, string | number | boolean | undefined> | URLSearchParams = {},
): string {
  const filled = path.replace(/\{([^{}]+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  const search =
    query instanceof URLSearchParams
      ? query
      : new URLSearchParams(Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])));
  const text = search.toString();
  return apiBase + filled + (text ? `?${text}` : '');
}

/**
 * Uploads by XMLHttpRequest, which alone reports progress. `url` comes from urlOf.
 */
export async function upload<T>(
  url: string,
  body: FormData | Blob,
  options: { method?: 'POST' | 'PUT'; signal?: AbortSignal; key?: string; onProgress?: (sent: number, total: number) => void } = {},
): Promise<T> {
  if (!csrf) await fetchCsrf().catch(() => {});
  const method = options.method ?? 'POST';
  return new Promise<T>((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, url);
    request.setRequestHeader('x-svc-csrf-token', csrf);
    request.setRequestHeader('Idempotency-Key', options.key ?? newKey());
    if (body instanceof Blob && body.type) request.setRequestHeader('Content-Type', body.type);
    request.upload.onprogress = (event) => options.onProgress?.(event.loaded, event.total);
    request.onload = () => {
      const headers = new Headers();
      for (const name of ['x-correlation-id', 'retry-after', 'x-svc-seq']) {
        const value = request.getResponseHeader(name);
        if (value) headers.set(name, value);
      }
      if (request.status >= 200 && request.status < 300) {
        rememberWrite(headers);
        resolve((request.responseText ? JSON.parse(request.responseText) : undefined) as T);
        return;
      }
      void refusalOf(new Response(request.responseText, { status: request.status, headers }), `${method} ${url}`).then((refusal) => {
        if (refusal.status === 401) hooks.sessionEnded(refusal);
        reject(refusal);
      });
    };
    request.onerror = () => reject(new ApiError(0, 'not_known', 'The connection broke.', {}, '', 0, `${method} ${url}`));
    request.onabort = () => reject(new ApiError(0, 'aborted', 'Cancelled.'));
    options.signal?.addEventListener('abort', () => request.abort(), { once: true });
    request.send(body);
  });
}
