import { expect, test } from 'vitest';
import { mapOf, visiblePart, type MapNode, type Uses, type View } from './map.ts';

const node = (id: string): MapNode => {
  const [folder, ...slug] = id.split('/');
  return { id, folder: folder as MapNode['folder'], slug: slug.join('/'), name: slug.join('/') };
};
const uses = (object: string, over: Partial<Record<'calls' | 'listens' | 'emits' | 'emitsLike', string[]>> = {}): Uses => ({
  object, calls: (over.calls ?? []).map((name) => ({ name })), listens: (over.listens ?? []).map((name) => ({ name })), emits: over.emits ?? [], emitsLike: over.emitsLike ?? [],
});
const edges = (all: Uses[], more: string[] = []) => mapOf([...all.map((one) => one.object), ...more].map(node), all).edges.map(({ from, to, kind, names }) => `${from} -${kind}${names.length ? ` ${names.join(', ')}` : ''}-> ${to}`);

test('events lead from those that emit to those that listen, exactly or by a pattern', () => {
  expect(edges([
    uses('automations/shop', { emits: ['order.created', 'order.paid'] }),
    uses('automations/bill', { listens: ['order.created'], emits: ['billed'] }),
    uses('automations/log', { listens: ['order.*', 'order.paid'] }),
    uses('pages/orders', { listens: ['billed'], emits: ['order.paid'] }),
    uses('automations/quiet', { listens: ['never'] }),
  ])).toEqual([
    'automations/shop -event order.created-> automations/bill',
    'automations/shop -event order.created, order.paid-> automations/log',
    'automations/bill -event billed-> pages/orders',
    'pages/orders -event order.paid-> automations/log',
  ]);
});

test('a pattern does not fit what it only begins like', () => {
  expect(edges([uses('automations/a', { emits: ['order', 'orders.x'] }), uses('automations/b', { listens: ['order.*'] })])).toEqual([]);
});

test('calls and pages lead to what they run; names that do not exist lead nowhere', () => {
  expect(edges([uses('automations/a', { calls: ['b', 'gone', 'folder/c'] }), uses('automations/b', { calls: ['b'] }), uses('automations/folder/c'), uses('pages/p', { calls: ['b'] })])).toEqual([
    'automations/a -call-> automations/b', 'automations/a -call-> automations/folder/c', 'automations/b -call-> automations/b', 'pages/p -call-> automations/b',
  ]);
});

test('apps are called, emit and listen by the name of their instance', () => {
  expect(edges([uses('automations/a', { calls: ['Mail.send', 'Other.x'], listens: ['Mail.received', 'Mail.*'], emits: ['Mail.config', 'Mail'] })], ['imports/Mail'])).toEqual([
    'imports/Mail -event Mail.received, Mail.*-> automations/a', 'automations/a -call Mail.send-> imports/Mail', 'automations/a -event Mail.config-> automations/a', 'automations/a -event Mail.config-> imports/Mail',
  ]);
});

test('computed types lead to whoever may listen to them', () => {
  expect(edges([uses('automations/a', { emitsLike: ['order.', ''] }), uses('automations/b', { listens: ['order.paid'] }), uses('automations/c', { listens: ['order.*'] }), uses('automations/d', { listens: ['stock.x'] })])).toEqual([
    'automations/a -event order.…-> automations/b', 'automations/a -event order.…-> automations/c',
  ]);
});

const map = mapOf(['automations/a', 'automations/b', 'automations/c', 'automations/alone', 'pages/p'].map(node), [
  uses('automations/a', { emits: ['x.made'] }), uses('automations/b', { listens: ['x.made'], calls: ['c'] }), uses('pages/p', { calls: ['a'] }),
]);
const view = (over: Partial<View>) => {
  const part = visiblePart(map, { focus: '', search: '', kinds: ['event', 'call'], connectedOnly: false, ...over });
  return { nodes: part.nodes.map((one) => one.slug).join(' '), edges: part.edges.length, asked: [...part.asked].length };
};

test('everything is shown until something is asked for', () => {
  expect(view({})).toEqual({ nodes: 'a b c alone p', edges: 3, asked: 5 });
  expect(view({ connectedOnly: true })).toEqual({ nodes: 'a b c p', edges: 3, asked: 5 });
  expect(view({ kinds: ['event'], connectedOnly: true })).toEqual({ nodes: 'a b', edges: 1, asked: 5 });
});

test('the focus shows one with its neighbours, a search those found with theirs', () => {
  expect(view({ focus: 'automations/a' })).toEqual({ nodes: 'a b p', edges: 2, asked: 1 });
  expect(view({ focus: 'automations/alone', connectedOnly: true })).toEqual({ nodes: 'alone', edges: 0, asked: 1 });
  expect(view({ search: 'ALONE' })).toEqual({ nodes: 'alone', edges: 0, asked: 1 });
  expect(view({ search: 'x.made' })).toEqual({ nodes: 'a b c p', edges: 3, asked: 2 });
  expect(view({ search: 'nothing' })).toEqual({ nodes: '', edges: 0, asked: 0 });
});

test('a map of thousands is made at once', () => {
  const all = Array.from({ length: 2000 }, (_, i) => uses(`automations/a${i}`, { emits: [`e${i}`], listens: [`e${(i + 1) % 2000}`, `g${i % 50}.*`], calls: [`a${(i + 7) % 2000}`] }));
  expect(mapOf(all.map((one) => node(one.object)), all).edges).toHaveLength(4000);
});
