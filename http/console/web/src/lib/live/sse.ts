/** One frame of a stream of server-sent events. */
export interface Frame {
  id: string;
  event: string;
  data: string;
}

/**
 * Reads frames out of the text of an SSE stream, which may be cut anywhere. Comments and
 * frames without data are dropped; `retry` is not ours to obey.
 */
export class FrameReader {
  /** Id of the last frame, also of one without data: the server says its position when a stream begins. */
  position = '';
  private rest = '';
  private id = '';
  private event = '';
  private data: string[] = [];

  /** Adds a piece of text and returns the frames that it completes. */
  push(text: string): Frame[] {
    const frames: Frame[] = [];
    const lines = (this.rest + text).split('\n');
    this.rest = lines.pop()!;
    for (const raw of lines) {
      const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
      if (line === '') {
        this.position = this.id;
        if (this.data.length > 0) frames.push({ id: this.id, event: this.event, data: this.data.join('\n') });
        this.data = [];
        this.event = '';
        continue;
      }
      const colon = line.indexOf(':');
      if (colon === 0) continue;
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
      if (field === 'id') this.id = value;
      else if (field === 'event') this.event = value;
      else if (field === 'data') this.data.push(value);
    }
    return frames;
  }
}

/** Reads the frames of an answer until it ends. */
export async function readFrames(body: ReadableStream<Uint8Array>, frames: FrameReader, onFrames: (complete: Frame[]) => void): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    onFrames(frames.push(decoder.decode(value, { stream: true })));
  }
}

/** Milliseconds before try `n` (from 0): 0.5 s doubled up to 15 s, spread so that many tabs do not come at once. */
export function backoff(n: number, random = Math.random()): number {
  return Math.min(500 * 2 ** n, 15_000) * (0.5 + random / 2);
}
