import { untrack } from 'svelte';
import { answer, api } from '../../lib/api/client.ts';
import { live } from '../../lib/live/live.svelte.ts';
import { resource, type Resource } from '../../lib/resource.svelte.ts';
import { showErrorToast } from '../../lib/toasts.svelte.ts';
import { appendRows, mergeRows, type WorkspaceRow } from './rows.ts';

/** The filter of the list, as the server takes it. */
export interface WorkspaceFilter {
  search?: string;
  labels?: string;
  dirty?: boolean;
  owned?: boolean;
  deleted?: boolean;
  sort: string;
}

const pageSize = 100;
/** More changes than this at once: the list is read anew. */
const mostTouched = 50;

/**
 * The workspaces that match a filter: page by page while the list is scrolled, and followed
 * live by reading only those that changed. Create it while a component is set up.
 */
export class WorkspaceList {
  readonly resource: Resource<WorkspaceRow[]>;
  /** Ids that somebody changed a moment ago. */
  changed = $state.raw(new Set<string>());
  private touched = new Map<string, string>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private fetching = false;

  constructor(private readonly filter: () => WorkspaceFilter) {
    this.resource = resource<WorkspaceRow[]>(
      ({ signal, headers }) => answer(api.GET('/v2/workspaces', { params: { query: { ...filter(), limit: pageSize } }, signal, headers })),
      { cacheKey: () => `workspaces/${JSON.stringify(filter())}` },
    );
    $effect(() => {
      const end = live.subscribe(['workspaces.*'], (events) => {
        for (const event of events) {
          if (/^workspaces\.(versions\.progress|files\.)/.test(event.type)) continue;
          const id = event.source?.workspaceId;
          if (id) this.touched.set(id, event.seq ?? '');
        }
        if (this.touched.size > 0) this.timer ??= setTimeout(() => void this.follow(), 300);
      });
      return () => {
        end();
        clearTimeout(this.timer);
      };
    });
  }

  private get complete(): boolean {
    const { data, total } = this.resource;
    return data === undefined || total === undefined || data.length >= total;
  }

  /** Reads the workspaces that changed and puts them in their places. */
  private async follow(): Promise<void> {
    const { resource } = this;
    const touched = this.touched;
    this.touched = new Map();
    const seq = [...touched.values()].pop() ?? '';
    if (resource.data === undefined || resource.reading || touched.size > mostTouched) {
      this.timer = undefined;
      resource.reload(seq);
      return;
    }
    const filter = untrack(this.filter);
    const ids = new Set(touched.keys());
    try {
      const { data } = await answer(
        api.GET('/v2/workspaces', { params: { query: { ...filter, ids: [...ids].join(','), limit: pageSize } }, headers: seq ? { 'x-svc-min-seq': seq } : {} }),
      );
      if (resource.data === undefined || JSON.stringify(untrack(this.filter)) !== JSON.stringify(filter)) return;
      const before = resource.data;
      const wasComplete = this.complete;
      const after = mergeRows(before, ids, data, filter.sort, wasComplete);
      resource.set(after);
      if (wasComplete) resource.total = after.length;
      else resource.total = (await answer(api.GET('/v2/workspaces', { params: { query: { ...filter, limit: 1 } } }))).total;
      this.changed = new Set(data.map((row) => row.id));
    } catch {
      // The next read says what is wrong, if it is still wrong then.
      resource.reload(seq);
    } finally {
      this.timer = this.touched.size > 0 ? setTimeout(() => void this.follow(), 1000) : undefined;
    }
  }

  /** Fetches the next page. */
  async more(): Promise<void> {
    const { resource } = this;
    if (this.fetching || this.complete || resource.reading) return;
    this.fetching = true;
    const filter = untrack(this.filter);
    try {
      const rows = resource.data ?? [];
      const { data, total } = await answer(api.GET('/v2/workspaces', { params: { query: { ...filter, limit: pageSize, page: Math.floor(rows.length / pageSize) } } }));
      if (JSON.stringify(untrack(this.filter)) !== JSON.stringify(filter)) return;
      resource.set(appendRows(resource.data ?? [], data));
      resource.total = total;
    } catch (error) {
      showErrorToast(error);
    } finally {
      this.fetching = false;
    }
  }

  /** Takes a row out: it was deleted or brought back a moment ago. */
  remove(id: string): void {
    const { resource } = this;
    if (!resource.data?.some((row) => row.id === id)) return;
    resource.set(resource.data.filter((row) => row.id !== id));
    if (resource.total !== undefined) resource.total--;
  }
}
