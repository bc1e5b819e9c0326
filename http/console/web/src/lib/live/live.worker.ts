import type { Frame } from './sse.ts';
import { EventStream, type StreamState } from './stream.ts';

/*
 * One stream for all tabs of a browser: HTTP/1.1 gives six connections per host. A tab says
 * hello every 20 s; one that was silent for three minutes (tabs in the background are slowed
 * down) or says goodbye is forgotten, and with the last one the stream ends.
 */
export type ToWorker = { say: 'hello'; url: string } | { say: 'restart'; url: string } | { say: 'retry' } | { say: 'bye' };
export type FromWorker =
  | { say: 'state'; state: StreamState; status: number }
  | { say: 'frames'; frames: Frame[] }
  | { say: 'gap' };

const tabs = new Map<MessagePort, number>();
let stream: EventStream | undefined;
let streamUrl = '';
let state: StreamState = 'connecting';
let status = 0;

function tell(message: FromWorker): void {
  for (const port of tabs.keys()) port.postMessage(message);
}

function open(url: string): void {
  stream?.close();
  streamUrl = url;
  stream = new EventStream(url, {
    onFrames: (frames) => tell({ say: 'frames', frames }),
    onState: (now, code) => {
      state = now;
      status = code;
      tell({ say: 'state', state, status });
    },
    onGap: () => tell({ say: 'gap' }),
  });
}

function forget(port: MessagePort): void {
  tabs.delete(port);
  if (tabs.size > 0) return;
  stream?.close();
  stream = undefined;
}

(self as unknown as { onconnect: (connection: MessageEvent) => void }).onconnect = (connection) => {
  const port = connection.ports[0]!;
  port.onmessage = ({ data }: MessageEvent<ToWorker>) => {
    if (data.say === 'bye') return forget(port);
    tabs.set(port, Date.now());
    if (data.say === 'retry') stream?.retryNow();
    else if (data.say === 'restart' || !stream || data.url !== streamUrl) open(data.url);
    port.postMessage({ say: 'state', state, status } satisfies FromWorker);
  };
};

setInterval(() => {
  for (const [port, seen] of tabs) if (Date.now() - seen > 180_000) forget(port);
}, 30_000);
