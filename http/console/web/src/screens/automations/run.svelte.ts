import { answer, api, asApiError, type ApiError, type Schema } from '../../lib/api/client.ts';
import { followWorkspace } from '../../lib/live/live.svelte.ts';
import type { EventStream } from '../../lib/live/stream.ts';

export type WholeRun = Schema<'WholeRun'>;
export type Execution = Schema<'RunExecution'>;

/** A run that is followed until it is over, and a little longer: what its events trigger comes after it. */
export class LiveRun {
  run = $state.raw<WholeRun | undefined>(undefined);
  error = $state.raw<ApiError | undefined>(undefined);
  /** Output of the first execution, once it is known; `undefined` before, and for a run that returned nothing. */
  output = $state.raw<unknown>(undefined);
  /** The output was too large, or was removed after its time. */
  outputGone = $state<'' | 'truncated' | 'stripped'>('');

  /** Types of the events that it has emitted since it is followed. */
  emitted = $state.raw<ReadonlySet<string>>(new Set());

  private stream: EventStream | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private idle: ReturnType<typeof setTimeout> | undefined;
  private lastRead = 0;
  private minSeq: string;
  private reading = false;
  private closed = false;

  constructor(readonly workspaceId: string, readonly id: string, minSeq = '') {
    this.minSeq = minSeq;
  }

  get over(): boolean {
    return this.run !== undefined && this.run.status !== 'running' && this.run.status !== 'waiting';
  }

  /** The automation itself has ended, and gave what it gives back; what its events trigger may go on. */
  get answered(): boolean {
    return this.over || this.first?.duration !== undefined;
  }

  get first(): Execution | undefined {
    return this.run?.tree[0];
  }

  start(): void {
    const query = new URLSearchParams({ 'source.correlationId': this.id, appInstanceDepth: '-1' });
    this.stream = followWorkspace(this.workspaceId, query, {
      onEvents: (events) => {
        this.minSeq = events[events.length - 1]?.seq ?? this.minSeq;
        this.emitted = new Set([...this.emitted, ...events.map((event) => event.type)]);
        this.schedule();
      },
      onGap: () => this.schedule(),
    });
    void this.read();
  }

  private schedule(): void {
    if (this.closed) return;
    clearTimeout(this.idle);
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      void this.read();
    }, Math.max(0, this.lastRead + 400 - Date.now()));
  }

  async read(): Promise<void> {
    if (this.reading) return this.schedule();
    this.reading = true;
    this.lastRead = Date.now();
    try {
      const { data } = await answer(
        api.GET('/v2/workspaces/{workspaceId}/runs/{correlationId}', {
          params: { path: { workspaceId: this.workspaceId, correlationId: this.id } },
          headers: this.minSeq ? { 'x-svc-min-seq': this.minSeq } : {},
        }),
      );
      if (this.closed) return;
      this.run = data;
      this.error = undefined;
      if (this.answered && data.tree[0]) await this.findOutput(data.tree[0]);
      // A browser has six connections to a host for all its tabs: one that nothing comes from any more is given back.
      clearTimeout(this.idle);
      if (this.over && !this.closed) this.idle = setTimeout(() => this.stream?.close(), 30_000);
    } catch (error) {
      if (this.closed) return;
      this.error = asApiError(error);
      // The read model may be behind the 202: what is asked for right after it is asked for again.
      if (this.error.status === 404 && this.run === undefined && Date.now() - this.lastRead < 5000 && this.minSeq) this.schedule();
    } finally {
      this.reading = false;
    }
  }

  /** A recording has the whole output; without one the event of the execution has it, unless it was large or old. */
  private async findOutput(first: Execution): Promise<void> {
    if (first.output !== undefined || first.error || this.output !== undefined || this.run?.recorded === true) {
      this.output = first.output;
      return;
    }
    const { data } = await answer(
      api.GET('/v2/workspaces/{workspaceId}/events', {
        params: { path: { workspaceId: this.workspaceId }, query: { types: 'runtime.automations.executed', 'source.correlationId': this.id, 'payload.executionId': first.executionId, appInstanceDepth: -1, limit: 1 } as never },
      }),
    );
    const event = (data as unknown as { result: { events: { stripped?: boolean; payload?: { output?: unknown; truncated?: boolean } }[] } }).result.events[0];
    this.output = event?.payload?.output ?? undefined;
    this.outputGone = event?.stripped ? 'stripped' : event?.payload?.truncated ? 'truncated' : '';
  }

  async cancel(): Promise<void> {
    await answer(api.POST('/v2/workspaces/{workspaceId}/runs/{correlationId}/cancel', { params: { path: { workspaceId: this.workspaceId, correlationId: this.id } } }));
    this.schedule();
  }

  close(): void {
    this.closed = true;
    this.stream?.close();
    clearTimeout(this.timer);
    clearTimeout(this.idle);
  }
}

/** The instruction that raised the error of an execution, as far as it was recorded: that deepest in the document. */
export function failedInstruction(execution: Execution): string {
  const failed = (execution.steps ?? []).filter((step) => step.error);
  return failed[failed.length - 1]?.instruction ?? '';
}
