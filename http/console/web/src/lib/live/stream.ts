import { FrameReader, backoff, readFrames, type Frame } from './sse.ts';

/** `live`: connected. `down`: tries again by itself. `ended`: will not come back without being asked (session over, no right). */
export type StreamState = 'connecting' | 'live' | 'down' | 'ended';

export interface StreamHandlers {
  /** Frames in order, as many as one piece of the network held. */
  onFrames(frames: Frame[]): void;
  onState(state: StreamState, status: number): void;
  /** The stream begins now, and not after what was read or followed before: read everything again. */
  onGap(): void;
}

/**
 * A stream of server-sent events over fetch, because EventSource hides 401, 403, 410 and 429.
 * It begins after a position, resumes after the last frame it has read and comes back with
 * growing pauses.
 */
export class EventStream {
  private lastId: string;
  private closed = false;
  private abort = new AbortController();
  private wake: (() => void) | undefined;
  private held = false;

  constructor(
    private readonly url: string,
    private readonly handlers: StreamHandlers,
    from = '',
    /** True for the stream of an operation: the server closes it at the end, and that is the end. */
    private readonly finite = false,
  ) {
    this.lastId = from;
    globalThis.addEventListener?.('pagehide', this.hold);
    globalThis.addEventListener?.('pageshow', this.release);
    void this.run();
  }

  /** The browser may keep a page that is left for the way back, and its connections with it: of the six of a host none is held meanwhile. */
  private readonly hold = (): void => {
    this.held = true;
    this.abort.abort();
  };

  private readonly release = (): void => {
    if (!this.held) return;
    this.held = false;
    this.abort = new AbortController();
    this.wake?.();
  };

  close(): void {
    this.closed = true;
    globalThis.removeEventListener?.('pagehide', this.hold);
    globalThis.removeEventListener?.('pageshow', this.release);
    this.abort.abort();
    this.wake?.();
  }

  /** Where another stream goes on. */
  get position(): string {
    return this.lastId;
  }

  /** Tries at once instead of at the end of the pause: the network is back, the tab is visible. */
  retryNow(): void {
    this.wake?.();
  }

  private async run(): Promise<void> {
    for (let failures = 0; !this.closed; ) {
      this.handlers.onState(failures === 0 ? 'connecting' : 'down', 0);
      let status = 0;
      let wait = 0;
      try {
        const headers: Record<string, string> = { Accept: 'text/event-stream' };
        if (this.lastId) headers['Last-Event-ID'] = this.lastId;
        const response = await fetch(this.url, { headers, credentials: 'same-origin', cache: 'no-store', signal: this.abort.signal });
        status = response.status;
        if (response.ok && response.body) {
          failures = 0;
          if (!this.lastId && !this.finite) this.handlers.onGap();
          this.handlers.onState('live', status);
          await this.read(response.body);
          if (this.finite) {
            this.closed = true;
            this.handlers.onState('ended', 200);
            return;
          }
        } else if (status === 410) {
          this.lastId = ''; // what came after it is erased
          continue;
        } else if (status >= 400 && status < 500 && status !== 429 && status !== 408) {
          this.closed = true;
          this.handlers.onState('ended', status);
          return;
        } else {
          wait = (Number(response.headers.get('retry-after')) || 0) * 1000;
        }
      } catch {
        // Broken connection: below it is tried again.
      }
      if (this.closed) return;
      if (this.held) {
        failures = 0;
        while (this.held && !this.closed) await new Promise<void>((resolve) => (this.wake = resolve));
        continue;
      }
      this.handlers.onState('down', status);
      await this.pause(Math.max(wait, backoff(failures++)));
    }
  }

  private async read(body: ReadableStream<Uint8Array>): Promise<void> {
    const frames = new FrameReader();
    await readFrames(body, frames, (complete) => {
      this.lastId = frames.position || this.lastId;
      if (complete.length > 0) this.handlers.onFrames(complete);
    });
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
