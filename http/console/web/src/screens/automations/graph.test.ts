import { expect, test } from 'vitest';
import { graphOf, type AutomationGraph, type EventUser } from './graph.ts';

const graph = (text: string, users: EventUser[] = []): AutomationGraph => graphOf(text, 'own', users)!;
/** Edges as text: `a -> b`, with the label and the kind of those that are no plain flow. */
const edges = (one: AutomationGraph): string[] => one.edges.map(({ from, to, kind, label }) => `${from} -> ${to}${label ? ` (${label})` : ''}${kind === 'flow' ? '' : ` [${kind}]`}`);
const titles = (one: AutomationGraph): string[] => one.nodes.map((node) => [node.kind, node.title, node.detail].filter(Boolean).join(' '));
const ids = (one: AutomationGraph): string[] => one.nodes.map((node) => node.id);

test('an automation without instructions leads from its start to its end', () => {
  for (const text of ['name: a', 'name: a\ndo: []', 'name: a\ndo:', 'name: a\ndo: nonsense', 'name: a\ndo: [null, {}]']) {
    expect(edges(graph(text))).toEqual(['start -> end']);
  }
  expect(titles(graph('name: a\ndo: []\noutput: {r: "{{r}}"}'))).toEqual(['start', 'end {"r":"{{r}}"}']);
});

test('instructions follow each other', () => {
  const one = graph(`do:
  - set: {name: total, value: 42}
  - comment: what follows is odd
  - delete: {name: total}
  - fetch: {method: post, url: 'https://x'}
  - run: {module: collections, function: find}
  - rateLimit: {name: l, limit: 1, window: 60}
  - auth: {}
  - createUserTopic: {topic: t}
  - joinUserTopic: {topic: t}
  - fetch: '{{request}}'
`);
  expect(titles(one)).toEqual([
    'start', 'instruction set total = 42', 'instruction comment what follows is odd', 'instruction delete total', 'instruction fetch POST https://x', 'instruction run collections.find',
    'instruction rateLimit l', 'instruction auth', 'instruction createUserTopic t', 'instruction joinUserTopic t', 'instruction fetch {{request}}', 'end',
  ]);
  expect(edges(one)).toEqual(ids(one).slice(1).map((id, i) => `${ids(one)[i]} -> ${id}`));
});

test('every trigger leads to the first instruction', () => {
  const one = graph(`when:
  endpoint: true
  events: [order.created, 'stock.*']
  schedules: ['0 9 * * *']
do:
  - set: {name: a, value: 1}
`);
  expect(titles(one).slice(0, 4)).toEqual(['endpoint own', 'event order.created', 'event stock.*', 'schedule 0 9 * * *']);
  expect(edges(one).slice(0, 4)).toEqual(['when.endpoint -> do[0].set', 'when.events[0] -> do[0].set', 'when.events[1] -> do[0].set', 'when.schedules[0] -> do[0].set']);
  expect(titles(graph('when: {endpoint: "u/:id"}\ndo: []'))[0]).toBe('endpoint u/:id');
});

test('conditions branch in the order of the text, number-like ones too, with the default last', () => {
  const one = graph(`do:
  - conditions:
      default:
        - set: {name: a, value: 0}
      '{{b}}':
        - set: {name: a, value: 1}
      10: []
      '{{a}}':
        - set: {name: a, value: 3}
  - set: {name: z, value: 1}
`);
  expect(one.nodes.filter((node) => node.kind === 'branch').map((node) => node.title)).toEqual(['{{b}}', '10', '{{a}}', 'default']);
  expect(edges(one)).toEqual([
    'start -> do[0].conditions',
    'do[0].conditions -> do[0].conditions.{{b}}', 'do[0].conditions.{{b}} -> do[0].conditions.{{b}}[0].set',
    'do[0].conditions -> do[0].conditions.10',
    'do[0].conditions -> do[0].conditions.{{a}}', 'do[0].conditions.{{a}} -> do[0].conditions.{{a}}[0].set',
    'do[0].conditions -> do[0].conditions.default', 'do[0].conditions.default -> do[0].conditions.default[0].set',
    'do[0].conditions.{{b}}[0].set -> do[1].set', 'do[0].conditions.10 -> do[1].set', 'do[0].conditions.{{a}}[0].set -> do[1].set', 'do[0].conditions.default[0].set -> do[1].set',
    'do[1].set -> end',
  ]);
});

test('without a default the conditions may lead past all branches', () => {
  expect(edges(graph("do:\n  - conditions: {'{{a}}': []}"))).toContain('do[0].conditions -> end (otherwise)');
});

test('a loop leads back to itself, and on when it is over', () => {
  const one = graph(`do:
  - repeat:
      on: '{{list}}'
      do:
        - set: {name: a, value: '{{item}}'}
        - conditions:
            '{{stop}}':
              - break: {scope: repeat}
  - set: {name: z, value: 1}
`);
  expect(edges(one)).toEqual([
    'start -> do[0].repeat',
    'do[0].repeat -> do[0].repeat.do[0].set (each)',
    'do[0].repeat.do[0].set -> do[0].repeat.do[1].conditions',
    'do[0].repeat.do[1].conditions -> do[0].repeat.do[1].conditions.{{stop}}',
    'do[0].repeat.do[1].conditions.{{stop}} -> do[0].repeat.do[1].conditions.{{stop}}[0].break',
    'do[0].repeat.do[1].conditions -> do[0].repeat [back]',
    'do[0].repeat -> do[1].set (then)',
    'do[0].repeat.do[1].conditions.{{stop}}[0].break -> do[1].set',
    'do[1].set -> end',
  ]);
  expect(edges(graph('do:\n  - repeat: {until: 3, do: []}'))).toEqual(['start -> do[0].repeat', 'do[0].repeat -> end (then)']);
});

test('a break of the inner loop leaves only that', () => {
  const all = edges(graph('do:\n  - repeat:\n      until: 2\n      do:\n        - repeat:\n            until: 2\n            do:\n              - break: {scope: repeat}\n        - comment: after'));
  expect(all).toContain('do[0].repeat.do[0].repeat.do[0].break -> do[0].repeat.do[1].comment');
  expect(all).toContain('do[0].repeat.do[1].comment -> do[0].repeat [back]');
});

test('a break of the automation leads to the end, and what stands behind it is reached by nothing', () => {
  const one = graph('do:\n  - break: {}\n  - set: {name: a, value: 1}\n  - break: {scope: all}');
  expect(edges(one)).toEqual(['start -> do[0].break', 'do[1].set -> do[2].break', 'do[0].break -> end (ends)', 'do[2].break -> end (ends)']);
  expect(titles(one)).toContain('control break all');
  expect(edges(graph('do:\n  - break: {scope: repeat}'))).toContain('do[0].break -> end (ends)');
});

test('branches of all run side by side and come together', () => {
  const one = graph('do:\n  - all:\n      - fetch: {url: a}\n      - {}\n      - fetch: {url: b}\n  - set: {name: z, value: 1}');
  expect(edges(one)).toEqual(['start -> do[0].all', 'do[0].all -> do[0].all[0].fetch', 'do[0].all -> do[0].all[2].fetch', 'do[0].all[0].fetch -> do[1].set', 'do[0].all[2].fetch -> do[1].set', 'do[1].set -> end']);
  expect(edges(graph('do:\n  - all: []'))).toEqual(['start -> do[0].all', 'do[0].all -> end']);
});

test('try leads to catch when it fails, and to finally in any case', () => {
  const one = graph('do:\n  - try:\n      do: [{fetch: {url: a}}]\n      catch: [{set: {name: e, value: 1}}]\n      finally: [{set: {name: f, value: 1}}]');
  expect(edges(one)).toEqual([
    'start -> do[0].try', 'do[0].try -> do[0].try.do[0].fetch',
    'do[0].try -> do[0].try.catch (failed) [error]', 'do[0].try.catch -> do[0].try.catch[0].set',
    'do[0].try.do[0].fetch -> do[0].try.finally', 'do[0].try.catch[0].set -> do[0].try.finally', 'do[0].try.finally -> do[0].try.finally[0].set',
    'do[0].try.finally[0].set -> end',
  ]);
  expect(edges(graph('do:\n  - try: {do: [{fetch: {url: a}}]}'))).toEqual(['start -> do[0].try', 'do[0].try -> do[0].try.do[0].fetch', 'do[0].try.do[0].fetch -> end', 'do[0].try -> end (failed) [error]']);
});

test('calls name what they call, also of an app', () => {
  const one = graph("do:\n  - charge: {amount: 1, output: paid}\n  - Mail.send: {}\n  - runWorkflow: {workflow: refund}\n  - runWorkflow: {workflow: '{{which}}'}");
  expect(one.nodes.slice(1, 5).map((node) => [node.kind, node.target])).toEqual([['call', 'charge'], ['call', 'Mail.send'], ['call', 'refund'], ['instruction', undefined]]);
  expect(titles(one)[1]).toBe('call charge → paid');
});

test('events lead to those that listen, and come from those that emit', () => {
  const users: EventUser[] = [
    { kind: 'automation', slug: 'ship', emit: ['order.sent'], listen: ['order.*'] },
    { kind: 'automation', slug: 'bill', emit: [], listen: ['order.paid', 'order.created'] },
    { kind: 'page', slug: 'orders', emit: ['go'], listen: ['order.created'] },
    { kind: 'automation', slug: 'own', emit: ['order.created'], listen: ['go'] },
  ];
  const one = graph("when: {events: [go, 'order.*']}\ndo:\n  - emit: {event: order.created}\n  - emit: {event: 'order.{{kind}}'}", users);
  expect(edges(one).filter((edge) => edge.endsWith('[event]'))).toEqual([
    'when.events[0] page orders -> when.events[0] [event]',
    'when.events[1] automation ship -> when.events[1] [event]',
    'when.events[1] automation own -> when.events[1] [event]',
    'do[0].emit -> do[0].emit automation ship [event]', 'do[0].emit -> do[0].emit automation bill [event]', 'do[0].emit -> do[0].emit page orders [event]',
  ]);
  expect(one.nodes.find((node) => node.id === 'do[0].emit page orders')).toMatchObject({ kind: 'page', target: 'orders', path: '' });
});

test('of many that listen only some are drawn', () => {
  const users = Array.from({ length: 9 }, (_, i): EventUser => ({ kind: 'automation', slug: `a${i}`, emit: [], listen: ['e'] }));
  const one = graph('do:\n  - emit: {event: e}', users);
  expect(one.nodes.filter((node) => node.kind === 'automation').map((node) => node.more ?? node.target)).toEqual(['a0', 'a1', 'a2', 'a3', 5]);
});

test('waits say what they wait for', () => {
  const one = graph('do:\n  - wait: {oneOf: [{event: a}, {event: b}], timeout: 60}\n  - wait: {timeout: 5}');
  expect(titles(one).slice(1, 3)).toEqual(['instruction wait a, b', 'instruction wait 5 s']);
  expect(one.nodes[1]!.events).toEqual(['a', 'b']);
});

test('bad documents are drawn as far as they can be read', () => {
  expect(graphOf('do: [', 'own', [])).toBeUndefined();
  expect(graphOf('- a', 'own', [])).toBeUndefined();
  expect(graphOf('', 'own', [])).toBeUndefined();
  expect(graphOf('do: *nothing', 'own', [])).toBeUndefined();
  expect(titles(graph('do:\n  - text\n  - set:\n  - conditions: text\n  - repeat: 5\n  - all: {a: 1}\n  - try:\n  - {a: {}, b: {}}'))).toEqual([
    'start', 'instruction text', 'instruction set', 'control conditions', 'control repeat', 'control all', 'control try', 'call a', 'end',
  ]);
  // The server says what is wrong with it; every node still leads on.
  expect(edges(graph('do:\n  - text\n  - conditions: text'))).toEqual(['start -> do[0]', 'do[0] -> do[1].conditions', 'do[1].conditions -> end (otherwise)']);
});

test('ids are unique and every edge joins two nodes, however deep it is nested', () => {
  const nested = (depth: number): string => (depth === 0 ? '{set: {name: a, value: 1}}' : `{conditions: {'{{a}}': [{repeat: {until: 2, do: [${nested(depth - 1)}]}}], default: [{try: {do: [${nested(depth - 1)}], catch: [{break: {}}]}}]}}`);
  const one = graph(`do: [${nested(6)}, {emit: {event: e}}]`, [{ kind: 'automation', slug: 'own', emit: [], listen: ['e'] }]);
  expect(new Set(ids(one)).size).toBe(one.nodes.length);
  const known = new Set(ids(one));
  for (const edge of one.edges) expect(known.has(edge.from) && known.has(edge.to)).toBe(true);
  expect(one.nodes.length).toBeGreaterThan(300);
});
