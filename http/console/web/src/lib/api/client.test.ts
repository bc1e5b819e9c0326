import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { ApiError, hooks, isOwnEvent, latestSeq, send, setCsrf, type Schema } from './client.ts';

let close = (): void => {};
afterEach(() => {
  close();
  setCsrf(null);
  vi.unstubAllGlobals();
});

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A server that answers each request by the next function; /v2/me gives a CSRF token. */
async function serve(answers: Handler[]): Promise<string> {
  const server = createServer((request, response) => {
    if (request.url === '/v2/me') return void response.writeHead(200, { 'x-svc-csrf-token': 'fresh' }).end('{}');
    answers.shift()!(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  close = () => {
    server.closeAllConnections();
    server.close();
  };
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const real = globalThis.fetch;
  vi.stubGlobal('fetch', (input: Request | string, init?: RequestInit) => real(typeof input === 'string' && input.startsWith('/') ? origin + input : input, init));
  return origin;
}
const refuse = (status: number, body: object, headers: Record<string, string> = {}): Handler => (_, response) => void response.writeHead(status, { 'content-type': 'application/json', 'x-correlation-id': 'c-1', ...headers }).end(JSON.stringify(body));

const eventAt = (seq: string, correlationId: string): Schema<'Event'> => ({ id: 'e', type: 'workspaces.updated', createdAt: '', seq, source: { correlationId }, payload: {} }) as unknown as Schema<'Event'>;

test('a write has one key for all its tries and gets a new CSRF token once', async () => {
  const keys: unknown[] = [];
  const tokens: unknown[] = [];
  const note = (next: Handler): Handler => (request, response) => {
    keys.push(request.headers['idempotency-key']);
    tokens.push(request.headers['x-svc-csrf-token']);
    next(request, response);
  };
  const origin = await serve([
    note(refuse(401, { error: 'invalid_token', message: 'no', details: { reason: 'csrf' } })),
    note((_, response) => void response.writeHead(201, { 'x-svc-seq': 'S7', 'x-correlation-id': 'c-7' }).end('{}')),
  ]);
  setCsrf('old');
  const response = await send(new Request(`${origin}/v2/workspaces`, { method: 'POST', body: '{}' }));
  expect(response.status).toBe(201);
  expect(tokens).toEqual(['old', 'fresh']);
  expect(keys[0]).toBe(keys[1]);
  expect(keys[0]).toMatch(/.{16,}/);
  expect(isOwnEvent(eventAt('S7', 'c-7'))).toBe(true);
  expect(isOwnEvent(eventAt('S7', 'c-8')), 'a write that changed nothing has the position of another event').toBe(false);
});

test('a read has a position, and is no event of this tab', async () => {
  const origin = await serve([(_, response) => void response.writeHead(200, { 'x-svc-seq': 'S8' }).end('[]')]);
  await send(new Request(`${origin}/v2/workspaces`));
  expect(latestSeq()).toBe('S8');
  expect(isOwnEvent(eventAt('S8', ''))).toBe(false);
});

test('a busy server is asked again after the time it named', async () => {
  const waits: string[] = [];
  hooks.waiting = ({ kind }) => {
    waits.push(kind);
    return () => waits.push('over');
  };
  const origin = await serve([refuse(503, { error: 'service_unavailable', message: 'later' }, { 'retry-after': '1' }), (_, response) => void response.end('[]')]);
  expect((await send(new Request(`${origin}/v2/x`))).ok).toBe(true);
  expect(waits).toEqual(['busy', 'over']);
});

test('a refusal has code, reason, faults and id', async () => {
  const origin = await serve([refuse(422, { error: 'validation_failed', message: 'bad', details: { reason: 'r', errors: [{ field: 'name', message: 'm' }] }, requestId: 'c-9' })]);
  const error = await send(new Request(`${origin}/v2/x?secret=1`)).then(() => undefined, (one: ApiError) => one);
  expect(error).toBeInstanceOf(ApiError);
  expect([error!.status, error!.code, error!.reason, error!.faults[0]?.field, error!.requestId, error!.route]).toEqual([422, 'validation_failed', 'r', 'name', 'c-9', 'GET /v2/x']);
});

test('an ended session is told, wrong credentials are not', async () => {
  let told = 0;
  hooks.sessionEnded = () => told++;
  const origin = await serve([refuse(401, { error: 'invalid_credentials', message: 'x' }), refuse(401, { error: 'invalid_token', message: 'x' }), refuse(401, { error: 'invalid_credentials', message: 'x', details: { reason: 'mfa_required' } })]);
  for (let i = 0; i < 3; i++) await send(new Request(`${origin}/v2/x`)).catch(() => {});
  expect(told).toBe(2);
});

test('an answer that is not JSON still has a code', async () => {
  const origin = await serve([(_, response) => void response.writeHead(502).end('<html>')]);
  const error = await send(new Request(`${origin}/v2/x`)).then(() => undefined, (one: ApiError) => one);
  expect(error!.code).toBe('service_unavailable');
});
