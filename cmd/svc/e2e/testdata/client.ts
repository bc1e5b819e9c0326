// Uses every part of the TypeScript client against a service, over a network that does what /network/ is told.
import assert from 'node:assert/strict';
import { Client, type Event, ServiceError, type Workspace, codeOf } from 'svc-client';

const [address, token] = process.argv.slice(2) as [string, string];
const network = async (order: string): Promise<string> => (await fetch(`${address}/network/${order}`, { method: 'POST' })).text();
const client = new Client(address, { token, retries: 100, pause: 20 });

async function refusal(work: Promise<unknown>): Promise<ServiceError> {
  const error: unknown = await work.then(
    () => assert.fail('it was not refused'),
    (reason: unknown) => reason,
  );
  assert(error instanceof ServiceError, String(error));
  return error;
}

// Objects are created, read and changed; null removes, and a stale ETag is refused.
let etag = '';
let seq = '';
const shop: Workspace = await client.createWorkspace({ name: 'Shop', photo: '/shop.png' }, { onAnswer: (answer) => ([etag, seq] = [answer.etag ?? '', answer.seq ?? '']) });
assert.equal(shop.name, 'Shop');
const changed = await client.updateWorkspace(shop.id, { photo: null }, { ifMatch: etag });
assert.equal(changed.name, 'Shop');
assert.equal(changed.photo, undefined);
const stale = await refusal(client.updateWorkspace(shop.id, { name: 'Store' }, { ifMatch: etag }));
assert.equal(stale.status, 409);
assert.equal((stale.details as { reason: string }).reason, 'stale');
assert.ok(stale.correlationId);

// Errors have their codes, and faults of a body their details. A segment of a path cannot lead elsewhere.
assert.equal(codeOf(await refusal(client.getAutomation(shop.id, 'none'))), 'resource_not_found');
assert.equal(codeOf(new Error('another')), undefined);
await assert.rejects(client.getAutomation(shop.id, '..'), /cannot be a part of a path/);
await refusal(client.getAutomation(shop.id, '../pages/x'));
const faulty = await refusal(client.createAutomation(shop.id, { slug: 'x', name: 'X', do: [], colour: 'red' } as never));
assert.equal(faulty.status, 400);
assert.match(JSON.stringify(faulty.details), /colour/);
assert.throws(() => new Client('svc.example.com'), /must begin with http/);

// A document as YAML, a dry run, and a response that is read as it is.
await client.do('POST', `/v2/workspaces/${shop.id}/automations`, 'slug: greet\nname: Greet\nwhen: {endpoint: true}\ndo: []\noutput: Hello {{body.name}}\n', { headers: { 'Content-Type': 'application/yaml' } });
const verdict = await client.do<{ errors: unknown[] }>('POST', `/v2/workspaces/${shop.id}/automations`, 'slug: x\ndo: [{sett: {}}]\n', { headers: { 'Content-Type': 'application/yaml' }, query: { dryRun: true } });
assert.notEqual(verdict.errors.length, 0);
assert.equal(await (await client.callEndpointByPost(shop.id, 'greet', { name: 'Ada' })).text(), 'Hello Ada');

// Lists have pages, which are read as they are needed.
for (let i = 0; i < 4; i++) await client.createWorkspace({ name: `More ${i}` });
const page = await client.listWorkspaces({ limit: 2, sort: 'name' });
assert.deepEqual([page.items.length, page.total, page.hasNext], [2, 5, true]);
const names: string[] = [];
for await (const workspace of page) names.push(workspace.name);
assert.deepEqual(names, ['More 0', 'More 1', 'More 2', 'More 3', 'Shop']);
assert.equal((await page.next()).items[0]?.name, 'More 2');

// A request whose answer is lost is sent again, and done once.
await network('lose');
await client.createWorkspace({ name: 'Once' });
assert.equal(await network('sent'), '2');
assert.equal((await client.listWorkspaces({ name: '^once$' })).total, 1);
const twice = { idempotencyKey: 'invoice-17' };
assert.equal((await client.createWorkspace({ name: 'Keyed' }, twice)).id, (await client.createWorkspace({ name: 'Keyed' }, twice)).id);

// A caller whom the service does not know has no idempotency keys: what could be done twice is not sent again.
await network('lose');
await assert.rejects(new Client(address, { pause: 1 }).login({ email: 'nobody@example.org', password: 'long enough' }), TypeError);
assert.equal(await network('sent'), '1');

// The service is busy: the client waits as long as it says.
await network('busy');
const began = Date.now();
await client.getWorkspace(shop.id);
assert.ok(Date.now() - began >= 1000);

// A signal ends a request that waits to be tried again.
await network('busy');
await assert.rejects(client.getWorkspace(shop.id, {}, { signal: AbortSignal.timeout(100) }), { name: 'TimeoutError' });

// A stream goes on where it was when the service comes back, without a gap or a repetition.
const emit = async (from: number, to: number): Promise<void> => {
  for (let n = from; n < to; n++) await client.emitEvents(shop.id, { events: [{ type: 'order.paid', payload: { n } }] });
};
await emit(0, 3);
const got: unknown[] = [];
for await (const frame of client.streamEvents(shop.id, { types: 'order.*', fromSeq: seq })) {
  const event = frame.data as Event;
  assert.equal(frame.id, event.seq);
  got.push(event.payload?.['n']);
  if (got.length === 3) {
    assert.equal(await network('restart'), 'done');
    await emit(3, 6);
  }
  if (got.length === 6) break;
}
assert.deepEqual(got, [0, 1, 2, 3, 4, 5]);
await assert.rejects(
  (async () => {
    for await (const frame of client.streamEvents(shop.id, { fromSeq: 'nowhere' })) assert.fail(frame.id);
  })(),
  { code: 'invalid_parameter' },
);

// A stream ends with its signal; that of an operation ends with the operation.
const leaving = new AbortController();
await assert.rejects(
  (async () => {
    for await (const frame of client.streamEvents(shop.id, { fromSeq: seq }, { signal: leaving.signal })) leaving.abort(frame.id);
  })(),
  (reason) => typeof reason === 'string',
);
await client.pushVersion(shop.id, { name: 'one' });
const operation = (await client.listOperations(shop.id)).items[0]!;
const kinds: string[] = [];
for await (const frame of client.streamOperation(shop.id, operation.id)) kinds.push(frame.event);
assert.notEqual(kinds.length, 0);

console.log('everything works');
