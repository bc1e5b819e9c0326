import { followWorkspace, type LiveEvent } from '../../lib/live/live.svelte.ts';
import type { EventStream, StreamState } from '../../lib/live/stream.ts';
import type { ActivityEvent } from './events.ts';

/** A place in the list where events may be missing: the position of the stream had expired. */
export interface Gap {
  gap: true;
  id: string;
  createdAt: string;
}
export type FeedRow = ActivityEvent | Gap;
export const isGap = (row: FeedRow): row is Gap => 'gap' in row;

/** Rows that are held at most, with those that wait to be shown. */
export const mostRows = 2000;
/** Of those, new ones that wait while the list is held. When more come they are read again instead. */
const mostWaiting = 500;
/** Above this many events in a second they are drawn in batches, four times a second. */
const calm = 50;
const batchPause = 250;
/** How long the first read waits for the stream to be open. */
const openTime = 3000;

/**
 * The rows of the live feed, newest first: the pages that were read and what the stream brought
 * since. While it is held, new events wait and are counted.
 */
export class Feed {
  rows = $state.raw<FeedRow[]>([]);
  /** New events that wait to be shown. */
  waiting = $state(0);
  /** Events that the stream brought since the first page. */
  received = $state(0);
  tail = $state<'off' | StreamState>('off');
  /** Why the stream ended, as a status of HTTP. */
  endedWith = $state(0);
  /** True when there is nothing older. */
  complete = $state(false);
  /** True when the list began anew because the position had expired. */
  hasGap = $state(false);

  private held = false;
  private stream: EventStream | undefined;
  private pending: ActivityEvent[] = [];
  private overflow = false;
  private inbox: ActivityEvent[] = [];
  private known = new Set<string>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private frame = 0;
  private second = 0;
  private inSecond = 0;
  private opened: (() => void) | undefined;
  private wasLive = false;
  /** The newest event when the stream was lost: what came after it may be missing when it cannot be resumed. */
  private lostAt = '';
  /** After which times events may be missing. */
  private gapsAt: string[] = [];
  /** False from another filter to its first page: until then nothing is drawn. */
  private ready = false;
  /** Counts streams: what an earlier one still says is not heard. */
  private opens = 0;

  constructor(
    /** Reads the first page again: events were missed. */
    private readonly reload: () => void,
    /** Called with events as they come, before they are drawn. */
    private readonly onEvents: (events: ActivityEvent[]) => void,
  ) {}

  /** Follows what matches from now on; resolves when the stream is open, so that a page that is read then misses nothing. */
  async open(workspaceId: string, query: URLSearchParams): Promise<void> {
    this.close();
    this.hasGap = false;
    this.wasLive = false;
    this.lostAt = '';
    this.gapsAt = [];
    this.ready = false;
    const ready = new Promise<void>((resolve) => (this.opened = resolve));
    const mine = ++this.opens;
    const ifMine = (act: () => void): void => {
      if (mine === this.opens) act();
    };
    this.tail = 'connecting';
    const handlers = {
      onEvents: (events: LiveEvent[]) => ifMine(() => this.take(events as unknown as ActivityEvent[])),
      onState: (state: StreamState, status: number) => ifMine(() => this.onState(state, status)),
      onGap: () => ifMine(() => this.onGap()),
    };
    this.stream = followWorkspace(workspaceId, query, handlers, '');
    await Promise.race([ready, new Promise((resolve) => setTimeout(resolve, openTime))]);
  }

  /** Ends following: the period lies in the past, or the screen is left. */
  close(): void {
    this.opens++;
    this.ready = false;
    this.stream?.close();
    this.stream = undefined;
    this.opened?.();
    this.tail = 'off';
    clearTimeout(this.timer);
    cancelAnimationFrame(this.frame);
    this.timer = undefined;
    this.frame = 0;
    this.inbox = [];
  }

  /** Takes a first page in place of everything, with what the stream brought meanwhile. */
  start(page: ActivityEvent[], complete: boolean): void {
    const inPage = new Set(page.map((event) => event.id));
    const newest = page[0]?.id ?? '';
    // The stream may have been faster than the read: what is newer than the page stays on top.
    const shown = this.ready ? [...this.pending, ...this.rows.filter((row) => !isGap(row))] : [];
    const since = [...this.inbox.reverse(), ...shown].filter((event) => !inPage.has(event.id) && event.id > newest).slice(0, mostRows - page.length);
    this.ready = true;
    this.inbox = [];
    this.pending = [];
    this.overflow = false;
    this.waiting = 0;
    this.received = since.length;
    this.complete = complete;
    this.rows = this.withGaps([...since, ...page]);
    this.known = new Set(this.rows.map((row) => row.id));
  }

  /** Adds an older page at the end. */
  append(page: ActivityEvent[], complete: boolean): void {
    const room = mostRows - this.pending.length - this.rows.length;
    const fresh = page.filter((event) => !this.known.has(event.id)).slice(0, Math.max(0, room));
    for (const event of fresh) this.known.add(event.id);
    this.complete = complete && fresh.length === page.length;
    this.rows = this.withGaps([...this.rows, ...fresh]);
  }

  get oldest(): ActivityEvent | undefined {
    return this.rows.findLast((row): row is ActivityEvent => !isGap(row));
  }

  get isFull(): boolean {
    return this.rows.length + this.pending.length >= mostRows;
  }

  /** Held: the list stands still and new events are counted. */
  hold(held: boolean): void {
    if (this.held === held) return;
    this.held = held;
    if (!held) this.show();
  }

  /** Shows what waited. */
  show(): void {
    if (this.overflow) {
      this.pending = [];
      this.overflow = false;
      this.waiting = 0;
      this.reload();
      return;
    }
    if (this.pending.length > 0) this.put(this.pending);
    this.pending = [];
    this.waiting = 0;
  }

  private take(events: ActivityEvent[]): void {
    const now = Date.now();
    if (now - this.second >= 1000) {
      this.second = now;
      this.inSecond = 0;
    }
    this.inSecond += events.length;
    this.inbox.push(...events);
    if (!this.ready) return;
    if (this.timer !== undefined || this.frame !== 0) return;
    if (this.inSecond > calm || document.hidden) this.timer = setTimeout(() => this.draw(), batchPause);
    else this.frame = requestAnimationFrame(() => this.draw());
  }

  private draw(): void {
    this.timer = undefined;
    this.frame = 0;
    const fresh = this.inbox.filter((event) => !this.known.has(event.id));
    this.inbox = [];
    if (fresh.length === 0) return;
    for (const event of fresh) this.known.add(event.id);
    this.received += fresh.length;
    this.onEvents(fresh);
    fresh.reverse();
    if (!this.held) return this.put(fresh);
    this.waiting += fresh.length;
    if (this.overflow) return;
    this.pending = [...fresh, ...this.pending];
    if (this.pending.length > mostWaiting) {
      this.overflow = true;
      for (const event of this.pending) this.known.delete(event.id);
      this.pending = [];
    } else if (this.rows.length + this.pending.length > mostRows) this.put([]);
  }

  /** Puts events on top; the oldest rows go when there are too many. */
  private put(events: ActivityEvent[]): void {
    const room = mostRows - (this.held ? this.pending.length : 0);
    const all = [...events, ...this.rows];
    for (const row of all.slice(room)) this.known.delete(row.id);
    if (all.length > room) this.complete = false;
    this.rows = all.length > room ? all.slice(0, room) : all;
  }

  private onState(state: StreamState, status: number): void {
    const isLive = state === 'live';
    if (isLive) this.lostAt = '';
    else if (this.wasLive) this.lostAt = this.newestAt();
    this.wasLive = isLive;
    this.tail = state;
    if (state === 'live') {
      this.opened?.();
    } else if (state === 'ended') {
      this.endedWith = status;
      this.opened?.();
    }
  }

  private onGap(): void {
    if (!this.ready) return; // the first page is still to be read
    // The rows may be read anew already: they are since the stream was lost, not since now.
    this.gapsAt.push(this.lostAt || this.newestAt());
    this.hasGap = true;
    this.reload();
  }

  private newestAt(): string {
    return (this.inbox.at(-1) ?? this.pending[0] ?? this.rows.find((row) => !isGap(row)))?.createdAt ?? '';
  }

  /** The rows with a mark before the first one that was there before each gap. */
  private withGaps(rows: FeedRow[]): FeedRow[] {
    const marked = rows.filter((row) => !isGap(row));
    for (const createdAt of this.gapsAt) {
      let at = marked.findIndex((row) => row.createdAt <= createdAt);
      // What was there before is erased too: nothing comes after the gap.
      if (at < 0 && this.complete && marked.length > 0) at = marked.length;
      if (at >= 0) marked.splice(at, 0, { gap: true, id: `gap-${createdAt}`, createdAt });
    }
    return marked;
  }
}
