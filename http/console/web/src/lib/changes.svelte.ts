import { untrack } from 'svelte';
import { answer, api, asApiError, type ApiError, type Schema } from './api/client.ts';
import { preferences } from './preferences.svelte.ts';
import { resource, type Resource } from './resource.svelte.ts';

export type Change = Schema<'HistoryEntry'>;

/** What the list is filtered by, as the API takes it. */
export interface ChangeFilter {
  /** In the history of all workspaces: of one only. */
  workspaceId?: string;
  by?: string;
  types?: string;
  object?: string;
  afterDate?: string;
  beforeDate?: string;
}

const pageSize = 200;
/** How far back a moment of the address is looked for. */
const farthest = 10_000;

/**
 * New entries on top of those that were read before, the newest first. A gap between both means that the
 * older ones are no longer known to follow: they are left out.
 */
export function mergeChanges(newest: Change[], before: Change[]): Change[] {
  const last = newest[newest.length - 1];
  const at = last ? before.findIndex((entry) => entry.seq === last.seq) : -1;
  return at < 0 ? newest : [...newest, ...before.slice(at + 1)];
}

/** The changes of a workspace, or of all without one: the newest ones follow the log, older ones are fetched as somebody goes back. */
export class ChangeList {
  readonly newest: Resource<Change[]>;
  entries = $state.raw<Change[]>([]);
  /** How many match in all; undefined when nobody counted. */
  total = $state<number | undefined>(undefined);
  /** There are older ones. */
  more = $state(false);
  reading = $state(false);
  failure = $state.raw<ApiError | undefined>(undefined);
  private filterText = '';

  constructor(
    private readonly workspaceId: () => string | undefined,
    private readonly filter: () => ChangeFilter,
  ) {
    this.newest = resource<Change[]>(({ signal, headers }) => this.read('', signal, headers), {
      touchedBy: ['workspaces.*', 'apikeys.*', 'apps.*'],
      workspaceId,
      isTouchedBy: (event) => !/^workspaces\.(versions\.progress|operations\.|files\.counted)/.test(event.type),
    });
    $effect(() => {
      const newest = this.newest.data;
      if (!newest) return;
      untrack(() => {
        const text = JSON.stringify(this.filter());
        const known = text === this.filterText ? this.entries : [];
        this.filterText = text;
        this.entries = mergeChanges(newest, known);
        this.total = this.newest.total;
        // What was fetched behind the newest page knows itself whether there is more.
        if (this.entries.length <= newest.length) this.more = newest.length === pageSize;
      });
    });
  }

  private read(cursor: string, signal?: AbortSignal, headers?: Record<string, string>) {
    const workspaceId = this.workspaceId();
    const query = { ...this.filter(), limit: pageSize, cursor: cursor || undefined };
    if (workspaceId === undefined) return answer(api.GET('/v2/history', { params: { query }, signal, headers }));
    return answer(api.GET('/v2/workspaces/{workspaceId}/history', { params: { path: { workspaceId }, query }, signal, headers }));
  }

  /** Fetches the next older ones. */
  async readOlder(): Promise<void> {
    const last = this.entries[this.entries.length - 1];
    const text = this.filterText;
    // With another filter the newest ones are read first.
    if (!last || !this.more || this.reading || text !== JSON.stringify(this.filter())) return;
    this.reading = true;
    this.failure = undefined;
    try {
      const { data } = await this.read(last.seq);
      if (text !== this.filterText || this.entries[this.entries.length - 1]?.seq !== last.seq) return;
      this.entries = [...this.entries, ...data];
      this.more = data.length === pageSize;
    } catch (error) {
      this.failure = asApiError(error);
    } finally {
      this.reading = false;
    }
  }

  /** Fetches older ones until the moment is among them. */
  async readUntil(isThere: () => boolean): Promise<void> {
    for (let known = -1; !isThere() && this.more && this.entries.length > known && this.entries.length < farthest; ) {
      known = this.entries.length;
      await this.readOlder();
    }
  }
}

/** The state that a moment of the address names: the newest change that had happened by then; -1 when it is not in the list. */
export function changeAt(entries: Change[], moment: string | undefined): number {
  if (moment === undefined) return entries.length > 0 ? 0 : -1;
  if (/^\d{4}-\d\d/.test(moment)) return entries.findIndex((entry) => Date.parse(entry.at) <= Date.parse(moment));
  return entries.findIndex((entry) => entry.seq === moment || String(entry.contentRevision ?? '') === moment);
}

/** Changes of one day, the newest day first. `dayOf` says in words which day it was. */
export function byDay(entries: Change[], dayOf: (at: string) => string): { day: string; entries: Change[] }[] {
  const days: { day: string; entries: Change[] }[] = [];
  for (const entry of entries) {
    const day = dayOf(entry.at);
    const last = days[days.length - 1];
    if (last?.day === day) last.entries.push(entry);
    else days.push({ day, entries: [entry] });
  }
  return days;
}

/** The beginning of a day in the time zone of the person, or of a day after it. */
export function dayBegins(day: string, days: number): string | undefined {
  const begins = new Date(`${day}T00:00:00${preferences.timeZone === 'utc' ? 'Z' : ''}`);
  if (Number.isNaN(begins.getTime())) return undefined;
  begins.setDate(begins.getDate() + days);
  return begins.toISOString();
}

/** Kinds of changes that the list can be filtered by, with their event types. */
export const changeKinds = {
  automations: 'workspaces.automations.*',
  tests: 'workspaces.tests.*',
  pages: 'workspaces.pages.*,workspaces.blocks.*',
  apps: 'workspaces.apps.*,apps.*',
  settings: 'workspaces.updated,workspaces.configured,workspaces.events.updated,workspaces.created,workspaces.duplicated,workspaces.deleted,workspaces.undeleted',
  security: 'workspaces.security.*,workspaces.secrets.*,workspaces.permissions.*,workspaces.pages.permissions.*,apikeys.*',
  versions: 'workspaces.versions.*,workspaces.imported,workspaces.restored,workspaces.locked,workspaces.unlocked',
  files: 'workspaces.files.*',
  webhooks: 'workspaces.subscriptions.*',
} as const;

export type ChangeKind = keyof typeof changeKinds;
