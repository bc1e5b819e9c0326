import { onDestroy, untrack } from 'svelte';
import { dropDraft, readDraft, saveDraft } from './drafts.ts';
import { session } from './session.svelte.ts';

/** What a form held when its page was left. */
export interface OfferedDraft<T> {
  content: T;
  /** What the form began with, and its ETag. */
  base?: T;
  etag: string;
  at: number;
}

/**
 * The unsaved content of a form. It is kept while somebody types, and offered when the form is opened
 * again. Give it content without the fields that are marked secret.
 */
export class FormDraft<T> {
  offered = $state.raw<OfferedDraft<T> | undefined>(undefined);

  private timer: ReturnType<typeof setTimeout> | undefined;
  private waiting: (() => Promise<void>) | undefined;

  /** `document`: for example `p7MSR49/waits/3kd`. */
  constructor(private readonly document: string) {
    onDestroy(() => this.flush());
  }

  /** Looks for a draft that says something else than `content`. */
  async load(content: T): Promise<void> {
    const draft = await readDraft(session.me!.id, this.document).catch(() => undefined);
    if (!draft || draft.text === JSON.stringify(content)) return;
    this.offered = { content: JSON.parse(draft.text) as T, base: draft.base === undefined ? undefined : (JSON.parse(draft.base) as T), etag: draft.etag, at: draft.at };
  }

  /** Keeps what the form holds now; undefined: there is nothing to lose. What is offered stays until it is decided. */
  keep(content: T | undefined, base?: T, etag = ''): void {
    const user = session.me?.id;
    if (!user || untrack(() => this.offered)) return;
    this.waiting = () => (content === undefined ? dropDraft(user, this.document) : saveDraft(user, this.document, JSON.stringify(content), etag, base === undefined ? undefined : JSON.stringify(base)));
    this.timer ??= setTimeout(() => this.flush(), 1000);
  }

  /** Takes the offered draft. */
  use(): OfferedDraft<T> {
    const offered = this.offered!;
    this.offered = undefined;
    return offered;
  }

  /** Forgets what was typed: it is sent, or nobody wants it. */
  drop(): void {
    this.offered = undefined;
    this.keep(undefined);
    this.flush();
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const work = this.waiting;
    this.waiting = undefined;
    work?.().catch(() => {}); // Without storage the content lives in this tab only.
  }
}
