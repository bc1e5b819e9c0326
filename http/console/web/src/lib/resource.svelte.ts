import { untrack } from 'svelte';
import { ApiError, asApiError, type Answer } from './api/client.ts';
import { live, type LiveEvent } from './live/live.svelte.ts';

/** What a read is given. Pass both to the call. */
export interface ReadContext {
  signal: AbortSignal;
  /** `x-svc-min-seq`: the read waits for the event that made it necessary. */
  headers: Record<string, string>;
}

export interface ResourceOptions {
  /** Event types of the shell's stream that make the read old: `['workspaces.automations.*']`. */
  touchedBy?: string[];
  /** Only events of this workspace. */
  workspaceId?: () => string | undefined;
  /** Further condition on an event. */
  isTouchedBy?: (event: LiveEvent) => boolean;
  /** The last data under this key is shown at once when the screen is opened again. */
  cacheKey?: () => string;
}

const cache = new Map<string, Answer<unknown>>();

/** Forgets every cached read: another user signed in. */
export function clearResources(): void {
  cache.clear();
}

const leastPause = 1000;

/**
 * A read of the API that keeps itself up to date. Create it while a component is set up:
 *
 *     const list = resource(({ signal, headers }) =>
 *       answer(api.GET('/v2/workspaces', { params: { query: { search } }, signal, headers })),
 *       { touchedBy: ['workspaces.*'] });
 *
 * What the function reads of reactive state before its first await is followed: when it
 * changes, the read is made again. While it is read again the last data stays (`reading`).
 */
export function resource<T>(read: (context: ReadContext) => Promise<Answer<T>>, options: ResourceOptions = {}): Resource<T> {
  const result = new Resource<T>(read, options);
  $effect(() => {
    result.listen();
    return () => result.close();
  });
  $effect(() => {
    live.gaps;
    result.start();
  });
  return result;
}

export class Resource<T> {
  data = $state.raw<T | undefined>(undefined);
  error = $state.raw<ApiError | undefined>(undefined);
  /** A read is under way. */
  reading = $state(false);
  /** When the read under way began, for "Still working". */
  startedAt = $state(0);
  etag = $state('');
  total = $state<number | undefined>(undefined);
  /** Events that came since the data was read and are not in it yet. */
  pending = $state(0);

  private abort: AbortController | undefined;
  private lastRead = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private minSeq = '';
  /** The position that the read under way waits for. */
  private awaited = '';
  private unsubscribe: (() => void) | undefined;

  constructor(
    private readonly read: (context: ReadContext) => Promise<Answer<T>>,
    private readonly options: ResourceOptions,
  ) {}

  /** True until the first data or error. */
  get loading(): boolean {
    return this.data === undefined && this.error === undefined;
  }

  /** Reads again now. */
  reload(minSeq = ''): void {
    untrack(() => this.start(minSeq));
  }

  /** Puts what a write answered in place of the data, so that no read is needed. */
  set(data: T, etag = this.etag): void {
    this.data = data;
    this.etag = etag;
    this.error = undefined;
  }

  cancel(): void {
    this.abort?.abort();
    this.reading = false;
    if (this.data === undefined) this.error = new ApiError(0, 'aborted', '');
  }

  /** Used by resource(). */
  listen(): void {
    const { touchedBy, workspaceId, isTouchedBy } = this.options;
    this.unsubscribe?.();
    if (!touchedBy) return;
    this.unsubscribe = live.subscribe(
      touchedBy,
      (events) => {
        const touching = isTouchedBy ? events.filter(isTouchedBy) : events;
        if (touching.length === 0) return;
        this.pending += touching.length;
        this.minSeq = touching[touching.length - 1]!.seq ?? '';
        this.timer ??= setTimeout(
          () => {
            this.timer = undefined;
            this.reload(this.minSeq);
          },
          Math.max(0, this.lastRead + leastPause - Date.now()),
        );
      },
      workspaceId?.(),
    );
  }

  close(): void {
    this.unsubscribe?.();
    this.abort?.abort();
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  /** Used by resource(): begins a read. The reactive state that `read` uses is followed. */
  start(minSeq = ''): void {
    this.abort?.abort();
    const abort = (this.abort = new AbortController());
    const key = this.options.cacheKey?.();
    untrack(() => {
      this.reading = true;
      this.startedAt = this.lastRead = Date.now();
      const cached = key === undefined ? undefined : (cache.get(key) as Answer<T> | undefined);
      if (cached && this.data === undefined) this.take(cached);
    });
    // A read that replaces another one waits for what that one waited for.
    const seq = (this.awaited = minSeq || this.awaited);
    const headers: Record<string, string> = seq ? { 'x-svc-min-seq': seq } : {};
    // Called here and not later, so that the effect sees what the function reads.
    const call = this.read({ signal: abort.signal, headers });
    call.then(
      (answered) => {
        if (abort.signal.aborted) return;
        this.awaited = '';
        this.take(answered);
        this.pending = 0;
        this.reading = false;
        if (key === undefined) return;
        cache.delete(key);
        cache.set(key, answered);
        if (cache.size > 50) cache.delete(cache.keys().next().value!);
      },
      (error: unknown) => {
        if (abort.signal.aborted) return;
        this.awaited = '';
        this.error = asApiError(error);
        this.reading = false;
        // A server that asked for a pause is asked again by itself, with its countdown on the screen.
        const refusal = this.error;
        if ((refusal.status === 429 || refusal.status === 503) && refusal.retryAfter > 0) {
          this.timer ??= setTimeout(() => {
            this.timer = undefined;
            this.reload(seq);
          }, refusal.retryAfter * 1000);
        } else if (refusal.code === 'offline') {
          addEventListener('online', () => this.reload(seq), { once: true, signal: abort.signal });
        }
      },
    );
  }

  private take(answered: Answer<T>): void {
    this.data = answered.data;
    this.etag = answered.etag;
    this.total = answered.total;
    this.error = undefined;
  }
}
