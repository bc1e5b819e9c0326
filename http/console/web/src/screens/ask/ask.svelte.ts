import { asApiError, ApiError, send, urlOf, type Schema } from '../../lib/api/client.ts';
import { FrameReader, readFrames, type Frame } from '../../lib/live/sse.ts';

export type Answer = Schema<'KnowledgeAnswer'>;

/** A question of this page with what became of it. */
export interface Turn {
  question: string;
  /** What is written of the answer so far. */
  text: string;
  /** Passages that the model was given; undefined until they are found. */
  sources: number | undefined;
  answer: Answer | undefined;
  failure: ApiError | undefined;
  status: 'asking' | 'done' | 'failed' | 'stopped';
}

/** What a question may say besides itself. */
export interface Options {
  mode?: string;
  topK?: number;
  model?: string;
}

/** A turn after a frame of its stream. */
export function afterFrame(turn: Turn, { event, data }: Pick<Frame, 'event' | 'data'>): Turn {
  const body = JSON.parse(data) as Record<string, unknown>;
  if (event === 'sources') return { ...turn, sources: (body.results as unknown[]).length };
  if (event === 'delta') return { ...turn, text: turn.text + String(body.text) };
  if (event === 'done') return { ...turn, text: String(body.answer), answer: body as unknown as Answer, status: 'done' };
  if (event === 'error') return { ...turn, failure: new ApiError(0, String(body.error), String(body.message), (body.details ?? {}) as Record<string, unknown>, String(body.requestId ?? '')), status: 'failed' };
  return turn;
}

/** The last turns as a question takes them: at most 20 messages, and only turns that were answered. */
export function historyOf(turns: Turn[]): { role: 'user' | 'assistant'; content: string }[] {
  return turns.filter((turn) => turn.status === 'done').slice(-10).flatMap((turn) => [{ role: 'user' as const, content: turn.question }, { role: 'assistant' as const, content: turn.text }]);
}

/** Questions to a base, one after the other, each with those before it. They live as long as the page. */
export class Questions {
  turns = $state.raw<Turn[]>([]);
  private abort: AbortController | undefined;

  constructor(private readonly path: { workspaceId: string; slug: string }) {}

  get asking(): boolean {
    return this.turns.at(-1)?.status === 'asking';
  }

  async ask(question: string, options: Options): Promise<void> {
    if (this.asking) return;
    const abort = (this.abort = new AbortController());
    const history = historyOf(this.turns);
    this.turns = [...this.turns, { question, text: '', sources: undefined, answer: undefined, failure: undefined, status: 'asking' }];
    const body = JSON.stringify({ question, stream: true, ...(history.length > 0 ? { history } : {}), ...options });
    try {
      const url = new URL(urlOf('/v2/workspaces/{workspaceId}/knowledgeBases/{slug}/ask', this.path), location.href);
      const response = await send(new Request(url, { method: 'POST', body, headers: { 'Content-Type': 'application/json', Accept: 'text/event-stream' }, signal: abort.signal }));
      await readFrames(response.body!, new FrameReader(), (frames) => this.change((turn) => frames.reduce(afterFrame, turn)));
      this.change((turn) => (turn.status === 'asking' ? { ...turn, status: 'failed', failure: new ApiError(0, 'offline', 'The stream ended before the answer.') } : turn));
    } catch (error) {
      this.change((turn) => (abort.signal.aborted ? { ...turn, status: 'stopped' } : { ...turn, status: 'failed', failure: asApiError(error) }));
    }
  }

  private change(next: (turn: Turn) => Turn): void {
    const last = this.turns.at(-1);
    if (last) this.turns = [...this.turns.slice(0, -1), next(last)];
  }

  stop(): void {
    this.abort?.abort();
  }

  clear(): void {
    this.stop();
    this.turns = [];
  }
}
