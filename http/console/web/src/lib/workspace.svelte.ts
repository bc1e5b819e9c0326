import { getContext, setContext } from 'svelte';
import { answer, api, type Schema } from './api/client.ts';
import { resource, type Resource } from './resource.svelte.ts';
import { router } from './router.svelte.ts';
import { session } from './session.svelte.ts';

export type Workspace = Schema<'Workspace'>;
export type WriteLock = Schema<'WriteLock'>;

/** Whether something may be done, and the right that is missing if not. */
export interface Verdict {
  allowed: boolean;
  /** What the caller may do is not read yet: nothing is offered, and nothing is said to be missing. */
  unknown?: boolean;
  action: string;
  subject: string;
}

/** The open workspace: its read, the caller's rights in it, its lock. Every screen below /w/{id} has one. */
export class OpenWorkspace {
  constructor(
    private readonly idOf: () => string,
    readonly resource: Resource<Workspace>,
  ) {}

  /** The id, also while the address still has `slug:…`. */
  get id(): string {
    return this.resource.data?.id ?? this.idOf();
  }
  get data(): Workspace | undefined {
    return this.resource.data;
  }

  /** May the caller do this? Until the workspace is read that is not known, and nothing is tried that might be refused. */
  can(action: string, subject: string = 'workspaces'): Verdict {
    const can = this.resource.data?.can as Record<string, string[]> | undefined;
    const allowed = session.isSuper || (can?.[subject]?.includes(action) ?? false);
    return { allowed, unknown: !allowed && !can, action, subject };
  }

  get lock(): WriteLock | undefined {
    return this.resource.data?.writeLock ?? undefined;
  }

  /** The moment that is shown (`at=` of the address); undefined for now. */
  get at(): string | undefined {
    return router.query.get('at') ?? undefined;
  }

  /** The same as reads of documents take it: a time, or a sequence. */
  get moment(): { at?: string; atSeq?: string } {
    const { at } = this;
    if (at === undefined) return {};
    return /^\d{4}-\d\d/.test(at) ? { at } : { atSeq: at };
  }

  /** The lock forbids writing content. That of a push lets editing go on. */
  get locked(): boolean {
    return this.lock !== undefined && !/^(bulk_)?push_in_progress$/.test(this.lock.reason);
  }

  /** Content cannot be written: it is locked, or an earlier moment is shown. */
  get readOnly(): boolean {
    return this.at !== undefined || this.locked;
  }
}

const key = Symbol('workspace');

/** Used by the shell: reads the workspace of the address and gives it to the screens below. */
export function provideWorkspace(id: () => string): OpenWorkspace {
  const read: Resource<Workspace> = resource<Workspace>(
    ({ signal, headers }) => answer(api.GET('/v2/workspaces/{workspaceId}', { params: { path: { workspaceId: id() } }, signal, headers })),
    {
      touchedBy: ['workspaces.*'],
      isTouchedBy: (event) => event.source?.workspaceId === read.data?.id && !/^workspaces\.((versions|bulkPush|bulkImport)\.progress|files\.)/.test(event.type),
      cacheKey: () => `workspace/${id()}`,
    },
  );
  return setContext(key, new OpenWorkspace(id, read));
}

/** The open workspace of the screen. */
export function getWorkspace(): OpenWorkspace {
  return getContext<OpenWorkspace>(key);
}
