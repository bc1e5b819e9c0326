// What the generated methods of api.ts are made of: requests that are tried again, errors, pages and streams.

/** How a client reaches the service, and as whom. */
export interface ClientOptions {
  /** An access token, or the token of a session. */
  token?: string;
  /** An API key of a workspace. */
  apiKey?: string;
  /** Headers of every request. */
  headers?: Record<string, string>;
  /** How often a request is tried again at most; 4 without it. */
  retries?: number;
  /** The first pause before a request is tried again, in milliseconds; 200 without it. Each further pause is twice as long. */
  pause?: number;
  /** What makes requests, for another network or for tests; the global `fetch` without it. */
  fetch?: typeof fetch;
}

/** What may be said about one request. */
export interface RequestOptions {
  /** Ends the request, its retries and its stream. */
  signal?: AbortSignal;
  /** Headers of this request. With a Content-Type, a text is sent as it is: a document as YAML, for example. */
  headers?: Record<string, string>;
  /** More parameters of the query: `{ 'payload.status': 'paid' }`, `{ dryRun: true }`. */
  query?: Query;
  /** The ETag that the object must still have. */
  ifMatch?: string;
  /** Lets a read wait for a write of another caller, by its `seq`. */
  minSeq?: string;
  /** Names a write, so that it is done once however often it is sent, also by another process. */
  idempotencyKey?: string;
  /** Is told what the headers of the answer say. */
  onAnswer?: (answer: Answer) => void;
}

/** What the headers of an answer say. */
export interface Answer {
  status: number;
  /** For `ifMatch`. */
  etag: string | null;
  /** For `minSeq`, and for streams to begin at. */
  seq: string | null;
  correlationId: string | null;
  headers: Headers;
}

/** The parameters of a query. What is undefined is not sent, and a list is sent as several parameters. */
export type Query = Record<string, string | number | boolean | readonly string[] | null | undefined>;

/** One message of a stream of server-sent events. */
export interface Frame {
  /** The position after it, to begin another stream at. */
  id: string;
  /** Its type; '' for those without one. */
  event: string;
  /** Its JSON. */
  data: unknown;
}

/** An answer of the service that refuses a request. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';

  constructor(
    /** Of HTTP. */
    readonly status: number,
    /** Such as `resource_not_found`. Match on it: messages can change. */
    readonly code: string,
    /** For people. */
    readonly description: string,
    /** Depends on the code. */
    readonly details: unknown,
    /** Finds the request in the events and logs. */
    readonly correlationId: string | null,
    /** How many milliseconds the service asks to wait. */
    readonly retryAfter: number,
  ) {
    super(`${code} (${status}): ${description}`);
  }
}

/** The code of an error of the service, and undefined for any other error. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof ServiceError ? error.code : undefined;
}

/** A page of a list. `for await` visits its items and those of all pages that follow. */
export class Page<T> implements AsyncIterable<T> {
  constructor(
    readonly items: T[],
    /** Of all pages. */
    readonly total: number,
    private readonly following: (() => Promise<Page<T>>) | undefined,
  ) {}

  /** Whether there is another page. */
  get hasNext(): boolean {
    return this.following !== undefined;
  }

  /** Reads the next page; an empty one unless `hasNext`. */
  async next(): Promise<Page<T>> {
    return this.following ? this.following() : new Page<T>([], this.total, undefined);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for (let page: Page<T> = this; ; page = await page.next()) {
      yield* page.items;
      if (!page.hasNext) return;
    }
  }
}

/** One call of the API. */
export interface CallRequest {
  method: string;
  /** The pattern of the path, and its parameters in their order. */
  path: readonly [string, ...string[]];
  body?: unknown;
  query?: Query;
  /** Whether the operation takes an idempotency key. */
  takesKey?: boolean;
}

/** Fills the parameters of a path, in their order. */
function fillPath([pattern, ...values]: readonly [string, ...string[]]): string {
  let next = 0;
  return pattern.replace(/\{[^}]*\}/g, () => {
    const value = values[next++] ?? '';
    // URLs take these for steps, escaped or not: the request would be another one.
    if (value === '' || value === '.' || value === '..') throw new TypeError(`${JSON.stringify(value)} cannot be a part of a path`);
    return encodeURIComponent(value);
  });
}

/** The longest pause before a request is tried again, also when the service asks for a longer one. */
const longestPause = 60_000;

/** Makes the requests of a client. */
export class Base {
  readonly #address: string;
  readonly #headers: Headers;
  readonly #retries: number;
  readonly #pause: number;
  readonly #fetch: typeof fetch;

  /** A client of the service at an address such as `https://svc.example.com`. */
  constructor(address: string, options: ClientOptions = {}) {
    if (!/^https?:\/\/[^/]/.test(address)) {
      throw new TypeError(`the address of the service must begin with http:// or https:// and name a host: ${JSON.stringify(address)}`);
    }
    this.#address = address.replace(/\/+$/, '');
    this.#headers = new Headers(options.headers);
    if (options.token !== undefined) this.#headers.set('Authorization', `Bearer ${options.token}`);
    if (options.apiKey !== undefined) this.#headers.set('X-Svc-Api-Key', options.apiKey);
    this.#retries = options.retries ?? 4;
    this.#pause = options.pause ?? 200;
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init));
  }

  /** Makes a request that has no method of its own, and returns its JSON. The body is as `fetch` takes it, or JSON. */
  do<T = unknown>(method: string, path: string, body?: unknown, options: RequestOptions = {}): Promise<T> {
    return this.call<T>({ method, path: [path], body, takesKey: method !== 'GET' }, options);
  }

  protected async call<T>(request: CallRequest, options: RequestOptions): Promise<T> {
    return (await this.#send(new Prepared(request, options, 'application/json'), readJSON)) as T;
  }

  protected async response(request: CallRequest, options: RequestOptions): Promise<Response> {
    return this.#send(new Prepared(request, options), async (response) => response);
  }

  protected async list<T>(request: CallRequest, options: RequestOptions): Promise<Page<T>> {
    let headers = new Headers();
    const onAnswer = (answer: Answer): void => {
      headers = answer.headers;
      options.onAnswer?.(answer);
    };
    const items = await this.call<T[]>(request, { ...options, onAnswer });
    const link = /<([^>]*)>/.exec(headers.get('Link') ?? '')?.[1];
    const following =
      link === undefined
        ? undefined
        : (): Promise<Page<T>> => {
            const query: Record<string, string[]> = {};
            for (const [name, value] of new URL(link, this.#address).searchParams) (query[name] ??= []).push(value);
            const { query: _, onAnswer: __, ...rest } = options;
            return this.list<T>({ ...request, query }, rest);
          };
    return new Page(items, Number(headers.get('X-Total-Count') ?? items.length), following);
  }

  /**
   * Reads a stream of server-sent events. A lost connection is opened again after the last frame that was read, so that
   * nothing is missed and nothing comes twice. A finite stream ends when the service closes it, any other when the
   * signal or the loop ends it, or with an error: a refusal, or one after the last of the retries.
   */
  protected async *stream(request: CallRequest, options: RequestOptions, finite: boolean): AsyncGenerator<Frame, void, undefined> {
    const prepared = new Prepared(request, options, 'text/event-stream');
    for (let failures = 0; ; failures++) {
      let lost: unknown;
      try {
        const response = await this.#send(prepared, async (response) => response);
        const kind = response.headers.get('Content-Type') ?? 'nothing';
        if (!kind.startsWith('text/event-stream') || !response.body) {
          await response.body?.cancel();
          throw new ServiceError(response.status, 'unexpected_answer', `no stream of events, but ${kind}`, undefined, null, 0);
        }
        for await (const frame of readFrames(response.body)) {
          failures = 0;
          // Also of a frame without data: it tells the position.
          if (frame.id) prepared.headers.set('Last-Event-ID', frame.id);
          if (frame.text !== undefined) yield { id: frame.id, event: frame.event, data: JSON.parse(frame.text) as unknown };
        }
        if (finite) return;
      } catch (error) {
        options.signal?.throwIfAborted();
        if (error instanceof ServiceError || error instanceof SyntaxError) throw error;
        lost = error;
      }
      if (failures > this.#retries) throw lost ?? new Error('the service closed the stream again and again');
      await this.#wait(failures, undefined, options.signal);
    }
  }

  /** Makes a request, again if it may be, and returns what is read of the answer of success. */
  async #send<T>(prepared: Prepared, read: (response: Response) => Promise<T>): Promise<T> {
    const { method, takesKey } = prepared.request;
    const isRead = method === 'GET' || method === 'HEAD';
    // The keys of those whom the service does not know are ignored.
    const isKnown = [this.#headers, prepared.headers].some((headers) => headers.has('Authorization') || headers.has('X-Svc-Api-Key'));
    const isKeyed = !isRead && takesKey === true && isKnown;
    if (isKeyed && !prepared.headers.has('Idempotency-Key')) prepared.headers.set('Idempotency-Key', randomKey());
    // What the service took may be sent again if that does nothing, or if it knows that it did it.
    const isRepeatable = prepared.canRepeat && (isRead || isKeyed || method === 'PUT' || method === 'DELETE');
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#once(prepared, read);
      } catch (error) {
        prepared.options.signal?.throwIfAborted();
        const refused = error instanceof ServiceError ? error : undefined;
        const again = refused
          ? (refused.status === 429 && prepared.canRepeat) || (isRepeatable && [502, 503, 504].includes(refused.status))
          : isRepeatable && !(error instanceof SyntaxError);
        if (!again || attempt >= this.#retries) throw error;
        await this.#wait(attempt, refused, prepared.options.signal);
      }
    }
  }

  async #once<T>(prepared: Prepared, read: (response: Response) => Promise<T>): Promise<T> {
    const headers = new Headers(this.#headers);
    prepared.headers.forEach((value, name) => headers.set(name, value));
    const { signal, onAnswer } = prepared.options;
    const init: RequestInit & { duplex?: 'half' } = { method: prepared.request.method, headers };
    if (prepared.body !== undefined) init.body = prepared.body;
    if (prepared.body instanceof ReadableStream) init.duplex = 'half';
    if (signal) init.signal = signal;
    const response = await this.#fetch(this.#address + prepared.target, init);
    if (!response.ok && response.status !== 304) throw await readError(response);
    const result = await read(response);
    onAnswer?.({
      status: response.status,
      etag: response.headers.get('ETag'),
      seq: response.headers.get('X-Svc-Seq'),
      correlationId: response.headers.get('X-Correlation-Id'),
      headers: response.headers,
    });
    return result;
  }

  #wait(attempt: number, refused: ServiceError | undefined, signal: AbortSignal | undefined): Promise<void> {
    const longest = this.#pause * 2 ** Math.min(attempt, 16);
    const pause = longest / 2 + (Math.random() * longest) / 2; // clients that were refused together come back apart
    return wait(Math.min(Math.max(pause, refused?.retryAfter ?? 0), longestPause), signal);
  }
}

/** A request as it is sent, as often as it must be. */
class Prepared {
  readonly headers: Headers;
  readonly body: BodyInit | undefined;
  readonly target: string;
  /** Whether the body can be sent a second time. */
  readonly canRepeat: boolean;

  constructor(
    readonly request: CallRequest,
    readonly options: RequestOptions,
    accept?: string,
  ) {
    this.headers = new Headers();
    if (accept) this.headers.set('Accept', accept);
    for (const [name, value] of Object.entries({ 'If-Match': options.ifMatch, 'X-Svc-Min-Seq': options.minSeq, 'Idempotency-Key': options.idempotencyKey, ...options.headers })) {
      if (value !== undefined) this.headers.set(name, value);
    }
    this.target = fillPath(request.path) + queryOf({ ...request.query, ...options.query });
    this.body = this.#encode(request.body);
    this.canRepeat = !(this.body instanceof ReadableStream);
  }

  #encode(body: unknown): BodyInit | undefined {
    const isGiven = this.headers.has('Content-Type');
    if (body === undefined) return undefined;
    if (body instanceof FormData || body instanceof URLSearchParams) return body; // fetch knows their types
    if (body instanceof Blob && (isGiven || body.type !== '')) return body;
    if (body instanceof ArrayBuffer || ArrayBuffer.isView(body) || body instanceof ReadableStream || body instanceof Blob) {
      if (!isGiven) this.headers.set('Content-Type', 'application/octet-stream');
      return body as BodyInit;
    }
    if (typeof body === 'string' && isGiven) return body;
    if (!isGiven) this.headers.set('Content-Type', 'application/json');
    return JSON.stringify(body);
  }
}

function queryOf(query: Query): string {
  const sent = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null) continue;
    for (const one of Array.isArray(value) ? (value as readonly string[]) : [value]) sent.append(name, String(one));
  }
  return sent.size > 0 ? `?${sent.toString()}` : '';
}

function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function wait(pause: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end);
      resolve();
    }, pause);
    if (signal?.aborted) end();
    else signal?.addEventListener('abort', end, { once: true });
  });
}

async function readJSON(response: Response): Promise<unknown> {
  const text = await response.text();
  return text === '' ? undefined : (JSON.parse(text) as unknown);
}

/** The error that an answer tells, in either of its two shapes. */
async function readError(response: Response): Promise<ServiceError> {
  const text = await response.text();
  const seconds = Number(response.headers.get('Retry-After') ?? NaN);
  const make = (code: string, message: string, details?: unknown): ServiceError =>
    new ServiceError(response.status, code, message, details, response.headers.get('X-Correlation-Id'), seconds > 0 ? seconds * 1000 : 0);
  type Told = { code?: unknown; error?: unknown; message?: unknown; details?: unknown };
  let told: Told | undefined;
  try {
    told = JSON.parse(text) as Told;
  } catch {
    // It is of another program, such as a proxy: its text is shown below.
  }
  const nested = typeof told?.error === 'object' && told.error !== null ? (told.error as Told) : told;
  const code = nested === told ? told?.error : nested?.code;
  if (typeof code === 'string' && code !== '') return make(code, String(nested?.message ?? ''), nested?.details);
  return make('unexpected_answer', `${response.status} ${response.statusText}: ${text.slice(0, 200)}`);
}

/** Reads the frames of a stream. One without data has no text. It ends with the connection. */
async function* readFrames(body: ReadableStream<Uint8Array>): AsyncGenerator<{ id: string; event: string; text: string | undefined }, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  let frame = { id: '', event: '', text: undefined as string | undefined };
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines.map((one) => one.replace(/\r$/, ''))) {
        if (line === '') {
          yield frame;
          frame = { id: '', event: '', text: undefined };
          continue;
        }
        const colon = line.indexOf(':');
        const name = colon < 0 ? line : line.slice(0, colon);
        const content = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
        if (name === 'id') frame.id = content;
        else if (name === 'event') frame.event = content;
        else if (name === 'data') frame.text = frame.text === undefined ? content : `${frame.text}\n${content}`;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined); // the loop was left, or the connection is lost already
  }
}
