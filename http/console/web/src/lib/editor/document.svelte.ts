import { untrack } from 'svelte';
import { asApiError, isOwnEvent, type ApiError } from '../api/client.ts';
import { dropDraft, readDraft, saveDraft, type Draft } from '../drafts.ts';
import { live, type LiveEvent } from '../live/live.svelte.ts';
import { session } from '../session.svelte.ts';
import type { Problem } from './codemirror.ts';

/** A document as the server has it: its text with the ETag for If-Match. */
export interface StoredText {
  text: string;
  etag: string;
}

/** What the server says of a text: A2. */
export interface Verdict {
  errors: { field: string; message: string; line?: number; column?: number }[];
  warnings: { field: string; message: string; line?: number; column?: number }[];
  schedules?: { cron: string; next: string[] }[];
}

/** How a sort of documents is read, checked and written. */
export interface DocumentCalls {
  /** Key of its draft: `p7MSR49/automations/charge`. */
  draft: string;
  read(minSeq: string, signal?: AbortSignal): Promise<StoredText>;
  check(text: string, signal: AbortSignal): Promise<Verdict>;
  /** Writes the text if nobody else did since `etag`; the server's own form of it comes back. */
  write(text: string, etag: string): Promise<StoredText & { seq: string }>;
}

/**
 * A text document that is being edited: what is stored, what is typed, the draft, the problems the
 * server finds, and what somebody else saved meanwhile. Shared by everything that edits a document.
 */
export class EditedDocument {
  text = $state('');
  stored = $state.raw<StoredText>({ text: '', etag: '' });
  loaded = $state(false);
  failure = $state.raw<ApiError | undefined>(undefined);
  saving = $state(false);
  savedAt = $state(0);
  /** Why the last save was refused. */
  refusal = $state.raw<ApiError | undefined>(undefined);
  problems = $state.raw<Problem[]>([]);
  schedules = $state.raw<NonNullable<Verdict['schedules']>>([]);
  checking = $state(false);
  /** Somebody else saved, or deleted, while there is unsaved text here. */
  theirs = $state.raw<(StoredText & { by: string; at: string }) | undefined>(undefined);
  deletedBy = $state.raw<LiveEvent | undefined>(undefined);
  /** The comparison is open; `wanted`: a save was refused, keeping mine goes on with it. */
  comparing = $state<false | 'asked' | 'wanted'>(false);
  /** Unsaved text of an earlier visit, offered. */
  draft = $state.raw<Draft | undefined>(undefined);

  readonly dirty = $derived(this.loaded && this.text !== this.stored.text);

  private checkTimer: ReturnType<typeof setTimeout> | undefined;
  private checkAbort: AbortController | undefined;
  private draftTimer: ReturnType<typeof setTimeout> | undefined;
  private pendingTheirs: LiveEvent | 'gap' | undefined;
  /** Counts reads and saves: the answer to an earlier read may come after that to a later one, and is dropped. */
  private turns = 0;
  private closed = false;

  constructor(private readonly calls: DocumentCalls) {}

  async load(minSeq = ''): Promise<void> {
    this.failure = undefined;
    const turn = ++this.turns;
    try {
      const stored = await this.calls.read(minSeq);
      if (turn !== this.turns || this.closed) return;
      this.stored = stored;
      this.text = stored.text;
      this.loaded = true;
      this.scheduleCheck(0);
      const draft = await readDraft(session.me!.id, this.calls.draft).catch(() => undefined);
      if (draft && draft.text !== stored.text) this.draft = draft;
    } catch (error) {
      if (turn === this.turns) this.failure = asApiError(error);
    }
  }

  /** The person typed. */
  type(text: string): void {
    this.text = text;
    this.refusal = undefined;
    this.scheduleCheck(300);
    this.draftTimer ??= setTimeout(() => {
      this.draftTimer = undefined;
      this.keepDraft();
    }, 1000);
  }

  private keepDraft(): void {
    const user = session.me?.id;
    if (!user || !this.loaded) return;
    const work = this.dirty ? saveDraft(user, this.calls.draft, this.text, this.stored.etag, this.stored.text) : dropDraft(user, this.calls.draft);
    work.catch(() => {}); // Without storage the text lives in this tab only.
  }

  /** Takes the offered draft. It began from what was stored then: a later save compares if that changed. */
  useDraft(): void {
    const draft = this.draft;
    if (!draft) return;
    this.draft = undefined;
    if (draft.etag !== this.stored.etag) {
      this.theirs = { ...this.stored, by: '', at: '' };
      this.stored = { text: draft.base ?? this.stored.text, etag: draft.etag };
    }
    this.text = draft.text;
    this.scheduleCheck(0);
  }

  discardDraft(): void {
    this.draft = undefined;
    void dropDraft(session.me!.id, this.calls.draft).catch(() => {});
  }

  /** Asks the server what is wrong with the text; saving is never blocked by it. */
  private scheduleCheck(after: number): void {
    clearTimeout(this.checkTimer);
    this.checkTimer = setTimeout(() => void this.check(), after);
  }

  private async check(): Promise<void> {
    this.checkAbort?.abort();
    const abort = (this.checkAbort = new AbortController());
    this.checking = true;
    try {
      const verdict = await this.calls.check(this.text, abort.signal);
      if (abort.signal.aborted) return;
      this.problems = problemsOf(verdict);
      this.schedules = verdict.schedules ?? [];
    } catch (error) {
      if (abort.signal.aborted) return;
      const refusal = asApiError(error);
      // Text that is no YAML is refused with its line; without an answer the last problems stay.
      if (refusal.faults.length > 0) this.problems = refusal.faults.map((fault) => ({ ...fault, severity: 'error' as const }));
    } finally {
      if (this.checkAbort === abort) this.checking = false;
    }
  }

  /** Saves; true when it is on disk. */
  async save(): Promise<boolean> {
    if (this.saving || !this.loaded) return false;
    this.saving = true;
    this.refusal = undefined;
    const sent = this.text;
    try {
      const { seq: _, ...written } = await this.calls.write(sent, this.stored.etag);
      this.turns++;
      this.stored = written;
      if (this.text === sent) this.text = written.text;
      this.savedAt = Date.now();
      this.theirs = undefined;
      this.deletedBy = undefined;
      this.comparing = false;
      this.pendingTheirs = undefined;
      clearTimeout(this.draftTimer);
      this.draftTimer = undefined;
      this.keepDraft();
      this.scheduleCheck(0);
      return true;
    } catch (error) {
      const refusal = asApiError(error);
      if (refusal.is('resource_conflict', 'stale')) {
        const theirs = await this.calls.read('').catch(() => undefined);
        if (theirs && theirs.text === this.stored.text && theirs.etag !== this.stored.etag) {
          // Something else that has the same tag changed, not this text: nothing is overwritten.
          this.stored = theirs;
          this.saving = false;
          return await this.save();
        }
        if (theirs) {
          this.theirs = { ...theirs, ...(this.theirs ? { by: this.theirs.by, at: this.theirs.at } : authorOf(this.pendingTheirs)) };
          this.comparing = 'wanted';
          return false;
        }
      }
      this.refusal = refusal;
      if (refusal.faults.length > 0) this.problems = refusal.faults.map((fault) => ({ ...fault, severity: 'error' as const }));
      return false;
    } finally {
      this.saving = false;
      if (this.pendingTheirs) void this.changedElsewhere(this.pendingTheirs);
    }
  }

  /** An event says that the document was written, or it may have been written without one being seen. */
  async changedElsewhere(event: LiveEvent | 'gap'): Promise<void> {
    if (event !== 'gap' && isOwnEvent(event)) return;
    const minSeq = event === 'gap' ? '' : event.seq;
    if (!this.loaded) return this.load(minSeq);
    if (this.saving) {
      this.pendingTheirs = event;
      return;
    }
    this.pendingTheirs = undefined;
    const turn = ++this.turns;
    try {
      const theirs = await this.calls.read(minSeq);
      if (turn !== this.turns || theirs.etag === this.stored.etag || this.closed) return;
      this.deletedBy = undefined;
      if (untrack(() => this.dirty) && theirs.text !== this.stored.text) {
        this.theirs = { ...theirs, ...authorOf(event) };
        return;
      }
      if (!untrack(() => this.dirty)) this.text = theirs.text;
      this.stored = theirs;
      this.theirs = undefined;
      this.scheduleCheck(0);
    } catch {
      // The next event or save tries again.
    }
  }

  deletedElsewhere(event: LiveEvent): void {
    if (!isOwnEvent(event)) this.deletedBy = event;
  }

  /** Drops what was typed for what is stored now; the editor's own undo brings it back. */
  takeTheirs(): void {
    if (!this.theirs) return;
    this.stored = { text: this.theirs.text, etag: this.theirs.etag };
    this.text = this.theirs.text;
    this.theirs = undefined;
    this.comparing = false;
    this.refusal = undefined;
    this.keepDraft();
    this.scheduleCheck(0);
  }

  /** Goes on with this text, knowing theirs: the next save replaces it. `text` = what the comparison made of mine. */
  async keepMine(text = this.text): Promise<boolean> {
    if (!this.theirs) return false;
    const wanted = this.comparing === 'wanted';
    this.stored = { text: this.theirs.text, etag: this.theirs.etag };
    this.text = text;
    this.theirs = undefined;
    this.comparing = false;
    return wanted ? this.save() : false;
  }

  /** The screen is left: what was typed stays as a draft. */
  close(): void {
    clearTimeout(this.checkTimer);
    clearTimeout(this.draftTimer);
    this.checkAbort?.abort();
    if (this.draftTimer !== undefined) this.keepDraft();
    this.closed = true;
  }
}

const authorOf = (event: LiveEvent | 'gap' | undefined): { by: string; at: string } =>
  event === undefined || event === 'gap' ? { by: '', at: '' } : { by: event.source.userId ?? '', at: event.createdAt };

interface UseOptions {
  isReady: () => boolean;
  workspaceId: () => string;
  types: string[];
  /** Further condition on an event. */
  isAbout?: (event: LiveEvent) => boolean;
  /** Whether an event is the end of the document. */
  isDeletion?: (event: LiveEvent) => boolean;
  past?: boolean;
}

/**
 * Opens a document while a component is set up: it is read once `isReady`, followed by events of these types, and its
 * draft is kept when the screen is left.
 */
export function useDocument(doc: EditedDocument, options: UseOptions): void {
  let begun = false;
  $effect(() => {
    if (begun || !options.isReady()) return;
    begun = true;
    untrack(() => void doc.load());
  });
  $effect(() => {
    if (options.past) return;
    return live.subscribe(
      options.types,
      (events) => {
        let last: LiveEvent | undefined;
        for (const event of events.filter((one) => options.isAbout?.(one) ?? true)) {
          if (options.isDeletion?.(event)) doc.deletedElsewhere(event);
          else last = event;
        }
        if (last) void doc.changedElsewhere(last);
      },
      options.workspaceId(),
    );
  });
  let gaps = live.gaps;
  $effect(() => {
    if (live.gaps === gaps || options.past) return;
    gaps = live.gaps;
    if (begun) untrack(() => void doc.changedElsewhere('gap'));
  });
  $effect(() => () => doc.close());
}

function problemsOf(verdict: Verdict): Problem[] {
  const listed = [...verdict.errors.map((one) => ({ ...one, severity: 'error' as const })), ...verdict.warnings.map((one) => ({ ...one, severity: 'warning' as const }))];
  return listed.sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
}
