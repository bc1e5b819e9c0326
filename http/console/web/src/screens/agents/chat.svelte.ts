import { untrack } from 'svelte';
import { answer, api, asApiError, ApiError, send, urlOf, type Schema } from '../../lib/api/client.ts';
import type { Frame } from '../../lib/live/sse.ts';
import { EventStream } from '../../lib/live/stream.ts';

export type Message = Schema<'AgentMessage'>;
export type ToolCall = Schema<'AgentToolCall'>;
export type WantedApproval = Schema<'AgentWantedApproval'>;

/** Why a message failed, as other refusals are shown. */
export function failureOf(message: Message): ApiError | undefined {
  return message.error && new ApiError(0, message.error.error, message.error.message, message.error.details ?? {}, message.id);
}

export const hasEnded = (message: Message | undefined): boolean => message === undefined || ['completed', 'failed', 'cancelled'].includes(message.status);

/** A message after a frame of its stream. Frames that are not known change nothing. */
export function withFrame(message: Message, { event, data }: Pick<Frame, 'event' | 'data'>): Message {
  const body = JSON.parse(data) as Record<string, unknown>;
  const { toolCalls } = message;
  switch (event) {
    case 'delta':
      return { ...message, text: message.text + String(body.text) };
    case 'tool_call':
      return toolCalls.some((one) => one.id === body.id) ? message : { ...message, toolCalls: [...toolCalls, { ...(body as ToolCall), duration: -1 }] };
    case 'tool_result':
      return { ...message, toolCalls: toolCalls.some((one) => one.id === body.id) ? toolCalls.map((one) => (one.id === body.id ? (body as ToolCall) : one)) : [...toolCalls, body as ToolCall] };
    case 'approval':
      return { ...message, status: 'waiting_approval', approvals: [...(message.approvals ?? []).filter((one) => one.callId !== body.callId), body as WantedApproval] };
    case 'done':
      return body as unknown as Message;
    case 'error':
      return { ...message, status: 'failed', error: body as Message['error'], approvals: undefined };
  }
  return message;
}

/**
 * One conversation with an agent. A message is sent, and then followed by its stream, as somebody does who comes back to a
 * message that is being answered: what happens to the page or the connection does not touch the work on it.
 */
export class Chat {
  messages = $state.raw<Message[]>([]);
  loading = $state(false);
  /** Why the conversation could not be read. */
  failure = $state.raw<ApiError | undefined>(undefined);
  /** Why the last message or answer to an approval was not accepted. */
  refusal = $state.raw<ApiError | undefined>(undefined);
  working = $state<'' | 'sending' | 'cancelling' | 'approving'>('');
  /** What is being answered. */
  readonly current = $derived(hasEnded(this.messages.at(-1)) ? undefined : this.messages.at(-1));

  private stream: EventStream | undefined;
  private closed = false;
  private turns = 0;
  private again: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly path: { workspaceId: string; slug: string },
    public conversationId: string | undefined,
    /** A conversation has begun, or has another last message. */
    private readonly onchanged: (conversationId: string) => void,
  ) {}

  /** Reads the conversation, and follows what is being answered. */
  async load(): Promise<void> {
    const id = this.conversationId;
    if (!id) return;
    const turn = ++this.turns;
    untrack(() => (this.loading = this.messages.length === 0));
    this.failure = undefined;
    try {
      const messages: Message[] = [];
      for (let page = 0; ; page++) {
        const { data } = await answer(api.GET('/v2/workspaces/{workspaceId}/agents/{slug}/conversations/{id}', { params: { path: { ...this.path, id }, query: { page, limit: 1000 } as never } }));
        messages.push(...data.messages);
        if (data.messages.length < 1000) break;
      }
      if (turn !== this.turns || this.closed) return;
      this.messages = messages;
      if (this.current) this.follow(this.current);
    } catch (error) {
      if (turn === this.turns) this.failure = asApiError(error);
    } finally {
      if (turn === this.turns) this.loading = false;
    }
  }

  /** Sends a message; true when it is stored. The answer is followed from then on. */
  async send(text: string, draft: boolean): Promise<boolean> {
    return this.attempt('sending', async () => {
      const body = { text, ...(this.conversationId ? { conversationId: this.conversationId } : {}), ...(draft ? { draft: true } : {}) };
      try {
        const { data } = await answer(api.POST('/v2/workspaces/{workspaceId}/agents/{slug}/messages', { params: { path: this.path, query: { timeout: 0 } }, body }));
        const { conversationId } = data as Message;
        this.conversationId = conversationId;
        this.onchanged(conversationId);
      } catch (error) {
        // An answer that failed at once is a message of the conversation all the same.
        const refusal = asApiError(error);
        const before = this.messages.length;
        if (this.conversationId && refusal.status >= 500) await this.load();
        if (this.messages.length > before) return;
        throw refusal;
      }
      await this.load();
    });
  }

  async cancel(): Promise<void> {
    const message = this.current;
    if (!message) return;
    await this.attempt('cancelling', async () => {
      const { data } = await answer(api.POST('/v2/workspaces/{workspaceId}/agents/{slug}/messages/{id}/cancel', { params: { path: { ...this.path, id: message.id } } }));
      if (hasEnded(data)) this.end(data);
    });
  }

  /** Lets a call go on, or refuses it. The answer would come when the message has ended: it is not waited for, its stream is followed. */
  async approve(callId: string, approved: boolean, reason: string): Promise<void> {
    const message = this.current;
    if (!message) return;
    await this.attempt('approving', async () => {
      const url = new URL(urlOf('/v2/workspaces/{workspaceId}/agents/{slug}/messages/{id}/approve', { ...this.path, id: message.id }), location.href);
      const body = JSON.stringify({ callId, approved, ...(reason.trim() ? { reason: reason.trim() } : {}) });
      const response = await send(new Request(url, { method: 'POST', body, headers: { 'Content-Type': 'application/json', Accept: 'text/event-stream' } }));
      void response.body?.cancel().catch(() => {});
      await this.load();
    });
  }

  private async attempt(what: Chat['working'], work: () => Promise<void>): Promise<boolean> {
    if (this.working) return false;
    this.working = what;
    this.refusal = undefined;
    try {
      await work();
      return true;
    } catch (error) {
      this.refusal = asApiError(error);
      return false;
    } finally {
      this.working = '';
    }
  }

  /** Follows the stream of a message from its beginning: what was there of it comes again. */
  private follow(message: Message): void {
    this.stream?.close();
    if (message.status === 'waiting_approval') return;
    let shown: Message = { ...message, text: '', toolCalls: [], approvals: undefined };
    const stream = new EventStream(
      urlOf('/v2/workspaces/{workspaceId}/agents/{slug}/messages/{id}/stream', { ...this.path, id: message.id }),
      {
        onFrames: (frames) => {
          for (const frame of frames) shown = withFrame(shown, frame);
          this.replace(shown);
          if (hasEnded(shown)) this.end(shown);
        },
        onState: (state) => {
          // It ended without a last frame: for an approval, or because its node stops.
          if (state === 'ended' && this.stream === stream && this.current) this.again = setTimeout(() => void this.load(), this.current.status === 'waiting_approval' ? 0 : 1000);
        },
        onGap: () => {},
      },
      '',
      true,
    );
    this.stream = stream;
  }

  private replace(message: Message): void {
    this.messages = this.messages.map((one) => (one.id === message.id ? message : one));
  }

  private end(message: Message): void {
    this.stream?.close();
    this.stream = undefined;
    this.replace(message);
    this.onchanged(message.conversationId);
  }

  close(): void {
    this.closed = true;
    this.turns++;
    clearTimeout(this.again);
    this.stream?.close();
  }
}
