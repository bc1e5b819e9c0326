import { expect, test } from 'vitest';
import { graphOf } from './graph.ts';
import { marksOf } from './graphmarks.ts';

const text = `when: {events: ['order.*']}
do:
  - set: {name: a, value: 1}
  - emit: {event: asked}
  - conditions:
      '{{a}} > 1':
        - lookup: {}
        - wait: {oneOf: [{event: answered}]}
      default: []
  - try:
      do: [{fetch: {url: x}}]
      catch: [{set: {name: e, value: 1}}]
  - all:
      - wait: {timeout: 5}
      - other: {}
`;
const graph = graphOf(text, 'own', [])!;
const execution = (over: Record<string, unknown>) => ({ executionId: 'x', slug: 'own', trigger: { type: 'event', value: 'order.made' }, startedAt: '2026-01-01T00:00:00.000Z', logs: [], children: [], ...over });
const marks = (tree: unknown[], emitted?: Set<string>) => {
  const { byNode, ...rest } = marksOf(graph, { tree } as never, 'own', emitted);
  return { ...rest, byNode: Object.fromEntries(byNode) };
};

test('a recorded run marks every step, the branch that was taken and what started it', () => {
  const steps = [['do[0].set'], ['do[1].emit'], ['do[2].conditions', '', 'default'], ['do[3].try'], ['do[3].try.do[0].fetch', 'FetchError: no'], ['do[3].try.catch[0].set']].map(([instruction, error, result], i) => ({ n: i, instruction, at: '', duration: 1, ...(error ? { error } : {}), ...(result ? { result } : {}) }));
  expect(marks([execution({ duration: 5, steps })])).toEqual({
    executions: 1, partial: false,
    byNode: {
      'when.events[0]': 'done', 'do[0].set': 'done', 'do[1].emit': 'done', 'do[2].conditions': 'done', 'do[2].conditions.default': 'done',
      'do[3].try': 'done', 'do[3].try.do[0].fetch': 'failed', 'do[3].try.catch': 'done', 'do[3].try.catch[0].set': 'done', end: 'done',
    },
  });
});

test('keys of the server that are written in brackets are found', () => {
  const { byNode } = marks([execution({ error: { error: 'E', message: '' }, duration: 5, steps: [{ n: 1, instruction: 'do[2].conditions["{{a}} > 1"][0].lookup', error: 'E: no', at: '', duration: 1 }] })]);
  expect(byNode).toEqual({ 'when.events[0]': 'done', 'do[2].conditions': 'done', 'do[2].conditions.{{a}} > 1': 'done', 'do[2].conditions.{{a}} > 1[0].lookup': 'failed' });
});

test('a run that waits marks the wait as current, what is around it, and what must have run before', () => {
  const { byNode, partial } = marks([execution({ waitsFor: [{ event: 'answered' }], until: '2026-01-01T00:00:20.000Z' })]);
  expect(partial).toBe(true);
  expect(byNode).toEqual({
    'when.events[0]': 'done', 'do[0].set': 'done', 'do[1].emit': 'done', 'do[2].conditions': 'current', 'do[2].conditions.{{a}} > 1': 'current',
    'do[2].conditions.{{a}} > 1[0].lookup': 'done', 'do[2].conditions.{{a}} > 1[1].wait': 'current',
  });
});

test('a pause is told from a wait, and branches of all say nothing of each other', () => {
  const { byNode } = marks([execution({ until: '2026-01-01T00:00:20.000Z', children: [execution({ slug: 'other', trigger: { type: 'automation', value: 'own' } })] })]);
  expect(byNode).toMatchObject({ 'do[4].all': 'current', 'do[4].all[0].wait': 'current', 'do[4].all[1].other': 'current', 'do[3].try': 'done' });
  expect(byNode['do[2].conditions.{{a}} > 1[1].wait']).toBeUndefined();
});

test('events and calls are known by their names while it runs', () => {
  expect(marks([execution({})], new Set(['asked'])).byNode).toEqual({ 'when.events[0]': 'done', 'do[0].set': 'done', 'do[1].emit': 'done' });
  expect(marks([execution({ children: [execution({ slug: 'hears', trigger: { type: 'event', value: 'asked' } })] })]).byNode).toMatchObject({ 'do[1].emit': 'done' });
  expect(marks([execution({ children: [execution({ slug: 'lookup', duration: 3, error: { error: 'E', message: '' }, trigger: { type: 'automation', value: 'own' } })] })]).byNode).toMatchObject({ 'do[2].conditions.{{a}} > 1[0].lookup': 'failed' });
});

test('executions deeper in the run count, others do not', () => {
  expect(marks([execution({ slug: 'parent', children: [execution({ duration: 1, steps: [{ n: 1, instruction: 'do[0].set', at: '', duration: 1 }] }), execution({ duration: 1, steps: [{ n: 1, instruction: 'do[0].set', error: 'E', at: '', duration: 1 }] })] })])).toMatchObject({ executions: 2, byNode: { 'do[0].set': 'failed' } });
  expect(marks([execution({ slug: 'parent' })])).toEqual({ executions: 0, partial: false, byNode: {} });
});
