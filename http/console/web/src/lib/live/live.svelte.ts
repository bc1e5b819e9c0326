import { latestSeq, urlOf, type Schema } from '../api/client.ts';
import { matchesType } from '../eventtype.ts';
import { workerAddress } from '../worker.ts';
import type { FromWorker, ToWorker } from './live.worker.ts';
import workerUrl from './live.worker.ts?sharedworker&url';
import type { Frame } from './sse.ts';
import { EventStream, type StreamState } from './stream.ts';

export type LiveEvent = Schema<'Event'>;

/** What the shell follows: every change of what the caller may read. */
const shellTypes = 'workspaces.*,apps.*,apikeys.*,error';

interface Subscription {
  types: string[];
  workspaceId: string | undefined;
  listener: (events: LiveEvent[]) => void;
}

/** The live stream of the console: one for all tabs where SharedWorker exists, else one per tab. */
class Live {
  /** What the dot shows. `reconnecting` begins 3 s after the connection broke. */
  state = $state<'off' | 'connecting' | 'live' | 'reconnecting' | 'ended'>('off');
  /** When the stream last said something. */
  lastUpdate = $state.raw(new Date());
  /** Grows when events may have been missed: every read is old then. */
  gaps = $state(0);
  /** Grows when the connection came back: the server may run another build now. */
  reconnects = $state(0);
  /** Called when the server refuses the stream (401: the session is over). */
  onEnded: (status: number) => void = () => {};
  /** Called when the stream runs: another tab may have signed in. */
  onLive: () => void = () => {};

  private readonly subscriptions = new Set<Subscription>();
  private port: MessagePort | undefined;
  private own: EventStream | undefined;
  /** Up to where, and up to when, everything is known. */
  private position = '';
  private since = Date.now();
  private downTimer: ReturnType<typeof setTimeout> | undefined;
  private hiddenTimer: ReturnType<typeof setTimeout> | undefined;
  private readonly url = urlOf('/v2/events/stream', {}, { types: shellTypes });

  /** Begins to follow. Call it once the session is known. */
  start(): void {
    if (this.state !== 'off' && this.state !== 'ended') return;
    const again = this.state === 'ended';
    this.state = 'connecting';
    this.position ||= latestSeq();
    if (typeof SharedWorker === 'undefined') return this.openOwn();
    if (this.port) return this.greet(again ? 'restart' : 'hello');
    try {
      const worker = new SharedWorker(workerAddress(workerUrl), { type: 'module', name: 'svc-live' });
      worker.onerror = () => {
        this.port = undefined;
        this.openOwn();
      };
      this.port = worker.port;
    } catch {
      return this.openOwn();
    }
    this.port.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      this.since = Date.now();
      if (data.say === 'state') this.onState(data.state, data.status);
      else if (data.say === 'gap') this.gaps++;
      else this.onFrames(data.frames);
    };
    this.greet('hello');
    setInterval(() => this.state !== 'off' && this.greet('hello'), 20_000);
    addEventListener('pagehide', () => this.post({ say: 'bye' }));
    addEventListener('pageshow', (event) => event.persisted && this.greet('hello'));
    addEventListener('online', () => this.post({ say: 'retry' }));
  }

  /** Goes on with another session: after another sign-in. */
  restart(): void {
    if (this.state === 'off') return this.start();
    if (this.port) return this.greet('restart');
    this.position = this.own?.position || this.position;
    this.own?.close();
    this.openOwn();
  }

  /** Ends following in this tab: after sign-out. */
  stop(): void {
    this.post({ say: 'bye' });
    this.own?.close();
    this.own = undefined;
    clearTimeout(this.downTimer);
    this.position = '';
    this.state = 'off';
  }

  /**
   * Calls the listener with the events of these types, of one workspace if named. Returns how to end it.
   * Types outside of the shell's stream need a stream of their own: see followWorkspace.
   */
  subscribe(types: string[], listener: (events: LiveEvent[]) => void, workspaceId?: string): () => void {
    const subscription = { types, workspaceId, listener };
    this.subscriptions.add(subscription);
    return () => this.subscriptions.delete(subscription);
  }

  private post(message: ToWorker): void {
    this.port?.postMessage(message);
  }

  private greet(say: 'hello' | 'restart'): void {
    this.post({ say, url: this.url, from: this.position, since: this.since });
  }

  private openOwn(): void {
    this.own = new EventStream(
      this.url,
      {
        onFrames: (frames) => this.onFrames(frames),
        onState: (state, status) => this.onState(state, status),
        onGap: () => this.gaps++,
      },
      this.position,
    );
    if (this.hiddenTimer !== undefined) return;
    this.hiddenTimer = setTimeout(() => {});
    document.addEventListener('visibilitychange', () => {
      clearTimeout(this.hiddenTimer);
      if (document.hidden) {
        this.hiddenTimer = setTimeout(() => {
          this.position = this.own?.position || this.position;
          this.own?.close();
          this.own = undefined;
        }, 30_000);
      } else if (!this.own && this.state !== 'off' && this.state !== 'ended') this.openOwn();
    });
  }

  private onState(state: StreamState, status: number): void {
    if (this.state === 'off') return;
    if (state === 'live') {
      clearTimeout(this.downTimer);
      this.downTimer = undefined;
      if (this.state === 'reconnecting') this.reconnects++;
      this.state = 'live';
      this.lastUpdate = new Date();
      this.onLive();
    } else if (state === 'ended') {
      clearTimeout(this.downTimer);
      this.downTimer = undefined;
      if (this.state !== 'ended') {
        this.state = 'ended';
        this.onEnded(status);
      }
    } else if (state === 'down') {
      this.downTimer ??= setTimeout(() => (this.state = 'reconnecting'), 3000);
    }
  }

  private onFrames(frames: Frame[]): void {
    this.lastUpdate = new Date();
    this.position = frames[frames.length - 1]!.id;
    const events = frames.map((frame) => JSON.parse(frame.data) as LiveEvent);
    for (const { types, workspaceId, listener } of this.subscriptions) {
      const touched = events.filter(
        (event) =>
          (workspaceId === undefined || event.source?.workspaceId === workspaceId) && types.some((pattern) => matchesType(event.type, pattern)),
      );
      if (touched.length > 0) listener(touched);
    }
  }
}

export const live = new Live();

/** Handlers of a stream that a screen opens for itself. */
export interface FollowHandlers {
  onEvents(events: LiveEvent[]): void;
  onState?(state: StreamState, status: number): void;
  /** Events may have been missed: read again. */
  onGap(): void;
}

/**
 * Follows the feed of one workspace with the filters of api 7.3. Nothing is missed that is not in
 * a read which begins now or later. With `from` empty it begins when it is open: read then.
 * Close the result when the screen is left.
 */
export function followWorkspace(workspaceId: string, query: URLSearchParams, handlers: FollowHandlers, from = latestSeq()): EventStream {
  return new EventStream(
    urlOf('/v2/workspaces/{workspaceId}/events/stream', { workspaceId }, query),
    {
      onFrames: (frames) => handlers.onEvents(frames.map((frame) => JSON.parse(frame.data) as LiveEvent)),
      onState: (state, status) => handlers.onState?.(state, status),
      onGap: () => handlers.onGap(),
    },
    from,
  );
}

/** Follows one operation to its end: `event` is the type, `data` the payload. */
export function followOperation(
  workspaceId: string,
  opId: string,
  onEvent: (type: string, payload: Record<string, unknown>) => void,
  onState: (state: StreamState, status: number) => void = () => {},
): EventStream {
  return new EventStream(
    urlOf('/v2/workspaces/{workspaceId}/operations/{opId}/events', { workspaceId, opId }),
    {
      onFrames: (frames) => frames.forEach((frame) => onEvent(frame.event, JSON.parse(frame.data) as Record<string, unknown>)),
      onState,
      onGap: () => {},
    },
    '',
    true,
  );
}
