import type { Frame } from './sse.ts';
import { EventStream, type StreamState } from './stream.ts';

/*
 * One stream for all tabs of a browser: HTTP/1.1 gives six connections per host. A tab says
 * hello every 20 s; one that was silent for three minutes (tabs in the background are slowed
 * down) or says goodbye is forgotten, and with the last one the stream ends.
 */
export type ToWorker =
  /** `from` is the position and `since` the time (ms) up to which the tab knows everything. */
  | { say: 'hello' | 'restart'; url: string; from: string; since: number }
  | { say: 'retry' }
  | { say: 'bye' };
export type FromWorker =
  | { say: 'state'; state: StreamState; status: number }
  | { say: 'frames'; frames: Frame[] }
  | { say: 'gap' };

const tabs = new Map<MessagePort, number>();
let stream: EventStream | undefined;
let streamUrl = '';
let state: StreamState = 'connecting';
let status = 0;

/** The last frames and when they came, for a tab that says hello a moment after it has begun to read. */
let recent: { at: number; frames: Frame[] }[] = [];
let forgottenAt = 0;
const mostRecent = 100;

function remember(frames: Frame[]): void {
  recent.push({ at: Date.now(), frames });
  if (recent.length > mostRecent) forgottenAt = recent.shift()!.at;
}

/** What came since a time, for a tab that was not known until now. */
function catchUp(port: MessagePort, since: number): void {
  if (since <= forgottenAt) return port.postMessage({ say: 'gap' } satisfies FromWorker);
  const frames = recent.filter(({ at }) => at >= since).flatMap((piece) => piece.frames);
  if (frames.length > 0) port.postMessage({ say: 'frames', frames } satisfies FromWorker);
}

function tell(message: FromWorker): void {
  for (const port of tabs.keys()) port.postMessage(message);
}

function open(url: string, from: string): void {
  stream?.close();
  streamUrl = url;
  stream = new EventStream(
    url,
    {
      onFrames: (frames) => {
        remember(frames);
        tell({ say: 'frames', frames });
      },
      onState: (now, code) => {
        state = now;
        status = code;
        tell({ say: 'state', state, status });
      },
      onGap: () => tell({ say: 'gap' }),
    },
    from,
  );
}

function forget(port: MessagePort): void {
  tabs.delete(port);
  if (tabs.size > 0) return;
  stream?.close();
  stream = undefined;
  recent = [];
}

(self as unknown as { onconnect: (connection: MessageEvent) => void }).onconnect = (connection) => {
  const port = connection.ports[0]!;
  port.onmessage = ({ data }: MessageEvent<ToWorker>) => {
    if (data.say === 'bye') return forget(port);
    const isNew = !tabs.has(port);
    tabs.set(port, Date.now());
    if (data.say === 'retry') stream?.retryNow();
    else if (data.say === 'restart' || !stream || data.url !== streamUrl) open(data.url, stream?.position || data.from);
    else if (isNew) catchUp(port, data.since);
    port.postMessage({ say: 'state', state, status } satisfies FromWorker);
  };
};

setInterval(() => {
  for (const [port, seen] of tabs) if (Date.now() - seen > 180_000) forget(port);
}, 30_000);
