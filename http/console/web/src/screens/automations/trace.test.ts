import { expect, test } from 'vitest';
import { firstError, spanOf, ticksOf, traceOf, visibleRows, whyNotReplayable } from './trace.ts';

const at = (ms: number): string => new Date(1_700_000_000_000 + ms).toISOString();
const execution = (over: Record<string, unknown>) => ({ executionId: 'x', slug: 'a', trigger: { type: 'test', value: 'a' }, startedAt: at(0), duration: 100, logs: [], children: [], ...over }) as never;

const tree = [
  execution({
    executionId: 'root', slug: 'charge', throttled: 5,
    effects: [
      { n: 1, kind: 'call', instruction: 'do[0].lookup', summary: 'lookup', at: at(1), duration: 1, executionId: 'child' },
      { n: 2, kind: 'clock', instruction: 'do[1].set', summary: '', duration: 0 },
      { n: 3, kind: 'fetch', instruction: 'do[1].fetch', summary: 'GET http://x', at: at(50), duration: 10 },
      { n: 4, kind: 'emit', instruction: 'do[2].emit', summary: 'charged', at: at(60), duration: 2, eventId: 'E1' },
      { n: 5, kind: 'wait', instruction: 'do[3].wait', summary: '30ms', at: at(65), duration: 30 },
    ],
    steps: [{ n: 1, instruction: 'do[1].fetch', input: { url: 'http://x' }, at: at(50), duration: 10, error: 'FetchError: no' }],
    children: [
      execution({ executionId: 'child', slug: 'lookup', startedAt: at(1), duration: 40, trigger: { type: 'automation', value: 'charge' } }),
      execution({ executionId: 'heard', slug: 'hears', startedAt: at(70), duration: 80, trigger: { type: 'event', value: 'charged', id: 'E1' } }),
    ],
  }),
];

test('hangs calls in their place and triggered automations under their emit', () => {
  const [root] = traceOf(tree);
  expect(root!.children.map((one) => [one.kind, one.sort, one.title])).toEqual([
    ['execution', 'automation', 'lookup'],
    ['effect', 'fetch', 'GET http://x'],
    ['effect', 'emit', 'charged'],
    ['effect', 'wait', '30ms'],
  ]);
  expect(root!.children[0]).toMatchObject({ slug: 'charge', instruction: 'do[0].lookup' });
  expect(root!.children[2]!.children.map((one) => one.title)).toEqual(['hears']);
});

test('knows what was only waited for', () => {
  const [root] = traceOf(tree);
  expect(root!.idle.map((one) => one.why)).toEqual(['throttle', 'wait']);
});

test('finds the first error at its instruction', () => {
  expect(firstError(traceOf(tree))).toMatchObject({ instruction: 'do[1].fetch', error: { error: 'FetchError' } });
});

test('a step that failed inside shows, too', () => {
  const [root] = traceOf([execution({ error: { error: 'InvalidInstructionError', message: 'no' }, effects: [], steps: [{ n: 1, instruction: 'do[0].set', at: at(3), duration: 0, error: 'InvalidInstructionError: no' }] })]);
  expect(root!.children[0]).toMatchObject({ sort: 'step', instruction: 'do[0].set' });
});

test('spans all rows and has round ticks', () => {
  const nodes = traceOf(tree);
  const span = spanOf(nodes, 0);
  expect(span.end - span.start).toBe(150);
  expect(ticksOf(150)).toEqual([0, 50, 100, 150]);
  expect(ticksOf(3)).toEqual([0, 1, 2, 3]);
  expect(visibleRows(nodes, new Set()).length).toBe(6);
  expect(visibleRows(nodes, new Set(['root'])).length).toBe(1);
});

test('an execution that waits has an open end', () => {
  const [root] = traceOf([execution({ duration: undefined, waitsFor: [{ event: 'approval.given' }], until: at(1000) })]);
  expect(root).toMatchObject({ end: undefined, idle: [{ why: 'wait', end: undefined }] });
});

test('a run says why it cannot be replayed', () => {
  const refused = (reason: string) => ({ code: 'resource_conflict', reason });
  expect(whyNotReplayable(true, true, undefined)).toBe(undefined);
  expect(whyNotReplayable(false, true, undefined)).toBe('running');
  expect(whyNotReplayable(true, false, undefined)).toBe('not_recorded');
  expect(whyNotReplayable(true, 'truncated', undefined)).toBe('truncated');
  expect(whyNotReplayable(true, true, refused('expired'))).toBe('expired');
  expect(whyNotReplayable(true, true, refused('truncated'))).toBe('truncated');
  expect(whyNotReplayable(true, true, refused('stale'))).toBe(undefined);
  expect(whyNotReplayable(true, true, { code: 'internal_error', reason: 'expired' })).toBe(undefined);
});
