import { expect, test } from 'vitest';
import { axisRows } from '../../lib/ui/timeaxis.ts';
import { csvCell } from '../../lib/csv.ts';
import { csvHead, csvLine, cutOf, noteOf, statusOf, summarize, traceNodes, type ActivityEvent } from './events.ts';

let n = 0;
const event = (type: string, payload: Record<string, unknown>, more: Partial<ActivityEvent> & { execution?: string; at?: number } = {}): ActivityEvent =>
  ({ id: `E${String(++n).padStart(3, '0')}`, type, createdAt: new Date(more.at ?? 1000).toISOString(), seq: String(n), size: 1, payload, source: { workspaceId: 'w', correlationId: 'c', automationSlug: 'order', executionId: more.execution }, ...more }) as unknown as ActivityEvent;
const words = { waits: 'Waits', waitsFor: (name: string) => `Waits for ${name}` };

const failure = { error: 'FetchForbiddenError', message: 'refused', level: 'error' as const };

function run(): ActivityEvent[] {
  const placed = event('order.placed', { total: 42 }, { execution: 'X1', at: 1200 });
  return [
    event('runtime.interactions.triggered', { automation: 'order', trigger: { type: 'endpoint', value: 'order' }, startedAt: new Date(1000).toISOString() }, { execution: 'X1', at: 1010 }),
    event('runtime.webhooks.triggered', { method: 'POST', endpoint: 'order' }, { execution: 'X1', at: 1010 }),
    event('runtime.waits.pending', { id: 'W1', executionId: 'X2', wait: { oneOf: [{ event: 'go' }] } }, { execution: 'X2', at: 1020 }),
    event('runtime.waits.fulfilled', { id: 'W1', event: { type: 'go' } }, { execution: 'X2', at: 1100 }),
    event('runtime.automations.executed', { slug: 'charge', executionId: 'X2', parentExecutionId: 'X1', startedAt: new Date(1015).toISOString(), duration: 100 }, { execution: 'X2', at: 1115 }),
    placed,
    event('runtime.automations.executed', { slug: 'stock', executionId: 'X3', trigger: { type: 'event', value: 'order.placed', id: placed.id }, startedAt: new Date(1210).toISOString(), duration: 5 }, { execution: 'X3', at: 1215, error: failure }),
    event('error', failure, { execution: 'X3', at: 1215, error: failure }),
    event('runtime.automations.executed', { slug: 'order', executionId: 'X1', startedAt: new Date(1000).toISOString(), duration: 201 }, { execution: 'X1', at: 1201 }),
  ];
}

test('a trace is a tree of executions, events and what they triggered', () => {
  const rows = axisRows(traceNodes(run(), words), () => true);
  expect(rows.map((row) => `${' '.repeat(row.depth)}${row.node.label}`)).toEqual(['order', ' runtime.webhooks.triggered', ' order', '  Waits for go', ' order.placed', '  order', '   error']);
  expect(rows.map((row) => row.node.state)).toEqual(['ok', 'plain', 'ok', 'plain', 'plain', 'error', 'error']);
  expect(rows[2]!.node.waits).toEqual([{ start: 1020, end: 1100 }]);
});

test('what has not ended goes on, and a ring of ids does not hang', () => {
  const events = run().filter((one) => !(one.type === 'runtime.automations.executed' && one.payload?.executionId === 'X1'));
  const [root] = traceNodes(events, words);
  expect(root).toMatchObject({ label: 'order', state: 'running' });
  expect(root!.end).toBeUndefined();
  const ring = [
    event('runtime.automations.executed', { slug: 'a', executionId: 'A', parentExecutionId: 'B', startedAt: new Date(1).toISOString(), duration: 1 }),
    event('runtime.automations.executed', { slug: 'b', executionId: 'B', parentExecutionId: 'A', startedAt: new Date(1).toISOString(), duration: 1 }),
  ];
  expect(axisRows(traceNodes(ring, words), () => true)).toHaveLength(2);
});

test('the summary counts one failure once and begins where the run began', () => {
  expect(summarize(run())).toMatchObject({ from: 1000, to: 1215, events: 9, errors: 1, trigger: { type: 'endpoint', value: 'order' }, firstError: { type: 'error' } });
  expect(summarize([])).toMatchObject({ events: 0, errors: 0 });
});

test('notes and states', () => {
  expect(run().map(noteOf)).toEqual(['endpoint order', 'POST order', 'go', 'go', '', '{"total":42}', 'FetchForbiddenError: refused', 'FetchForbiddenError: refused', '']);
  expect(run().map(statusOf)).toEqual(['', '', 'waiting', '', 'ok', '', 'error', 'error', 'ok']);
  expect(noteOf(event('workspaces.automations.updated', { slug: 'order', automation: {} }))).toBe('order');
  expect(noteOf(event('knowledge.documents.added', { knowledgeBase: 'faq', name: 'a.md' }))).toBe('faq: a.md');
  expect(noteOf(event('knowledge.documents.deleted', { knowledgeBase: 'faq', count: 3, ids: [] }))).toBe('faq: 3');
  const failed = event('knowledge.documents.failed', { knowledgeBase: 'faq', name: 'a.pdf', error: { reason: 'encrypted', message: 'it is encrypted' } });
  expect([noteOf(failed), statusOf(failed)]).toEqual(['faq: a.pdf, it is encrypted', 'warning']);
  expect(cutOf(event('x', { truncated: true }))).toEqual({ kind: 'truncated', setting: 'BROKER_EMIT_MAXLEN' });
  expect(cutOf(event('runtime.automations.executed', {}, { stripped: true }))?.kind).toBe('stripped');
});

test('CSV quotes what needs it and defuses formulas', () => {
  expect(csvCell('a,"b"')).toBe('"a,""b"""');
  expect(csvCell('=1+1')).toBe("'=1+1");
  expect(csvCell(-5)).toBe('-5');
  expect(csvLine(event('x', { a: 1 })).split(',').length).toBe(csvHead.split(',').length);
});
