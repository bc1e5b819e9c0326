import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { EventStream, type StreamHandlers } from './stream.ts';

let close = (): void => {};
afterEach(() => close());

/** A server that answers each request by the next function. */
async function serve(answers: ((response: ServerResponse, lastId: string | undefined) => void)[]): Promise<string> {
  const server = createServer((request, response) => answers.shift()!(response, request.headers['last-event-id'] as string | undefined));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  close = () => {
    server.closeAllConnections();
    server.close();
  };
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

test('goes on from its position, starts anew after 410, ends on 401', async () => {
  const seen: (string | undefined)[] = [];
  const url = await serve([
    (response, id) => {
      seen.push(id);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end('id: S1\ndata: {"n":1}\n\n');
    },
    (response, id) => {
      seen.push(id);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end('retry: 2000\nid: S2\n\n');
    },
    (response, id) => {
      seen.push(id);
      response.writeHead(410).end();
    },
    (response, id) => {
      seen.push(id);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end('id: S9\ndata: {"n":9}\n\n');
    },
    (response, id) => {
      seen.push(id);
      response.writeHead(401).end();
    },
  ]);
  const data: string[] = [];
  const status = await new Promise<number>((resolve) => {
    const handlers: StreamHandlers = {
      onFrames: (frames) => data.push(...frames.map((frame) => frame.data)),
      onState: (state, code) => {
        if (state === 'down') queueMicrotask(() => stream.retryNow());
        if (state === 'ended') resolve(code);
      },
      onGap: () => data.push('gap'),
    };
    const stream = new EventStream(url, handlers, 'S0');
  });
  expect(status).toBe(401);
  expect(data).toEqual(['{"n":1}', 'gap', '{"n":9}']);
  expect(seen).toEqual(['S0', 'S1', 'S2', undefined, 'S9']);
});

test('a stream without a position says that what was read before it opened may be old', async () => {
  const url = await serve([(response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()]);
  const said: string[] = [];
  const live = later<void>();
  const stream = new EventStream(url, {
    onFrames: () => {},
    onState: (state) => {
      said.push(state);
      if (state === 'live') live.resolve();
    },
    onGap: () => said.push('gap'),
  });
  await live.promise;
  expect(said).toEqual(['connecting', 'gap', 'live']);
  stream.close();
});

function later<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((done) => (resolve = done));
  return { promise, resolve };
}

test('a page that is left holds no connection, and goes on when somebody comes back', async () => {
  const page = new EventTarget();
  vi.stubGlobal('addEventListener', page.addEventListener.bind(page));
  vi.stubGlobal('removeEventListener', page.removeEventListener.bind(page));
  const closed = later<void>();
  const resumed = later<string | undefined>();
  let asked = 0;
  const url = await serve([
    (response) => {
      asked++;
      response.on('close', () => closed.resolve());
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('id: S1\ndata: {}\n\n');
    },
    (response, id) => {
      asked++;
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      resumed.resolve(id);
    },
  ]);
  const states: string[] = [];
  const first = later<void>();
  const stream = new EventStream(url, { onFrames: () => first.resolve(), onState: (state) => states.push(state), onGap: () => {} });
  await first.promise;
  page.dispatchEvent(new Event('pagehide'));
  await closed.promise;
  stream.retryNow();
  await new Promise((resolve) => setImmediate(resolve));
  expect(asked).toBe(1);
  expect(states).toEqual(['connecting', 'live']);
  page.dispatchEvent(new Event('pageshow'));
  expect(await resumed.promise).toBe('S1');
  stream.close();
  vi.unstubAllGlobals();
});
