import { expect, test } from 'vitest';
import { placeGraph, type Box, type Link } from './layout.ts';
import { nearestInDirection } from './navigate.ts';

const boxes = (n: number): Box[] => Array.from({ length: n }, (_, i) => ({ id: `n${i}`, width: 200, height: 40 }));
const overlap = (all: Box[], at: Record<string, { x: number; y: number }>): string[] =>
  all.flatMap((a, i) => all.slice(i + 1).filter((b) => at[a.id]!.x < at[b.id]!.x + b.width && at[b.id]!.x < at[a.id]!.x + a.width && at[a.id]!.y < at[b.id]!.y + b.height && at[b.id]!.y < at[a.id]!.y + a.height).map((b) => `${a.id} ${b.id}`));
/** Always the same pseudo-random links, from a box to one of the `near` boxes after it. */
const links = (n: number, count: number, near: number): Link[] => {
  let seed = 7;
  const next = (): number => (seed = (seed * 48271) % 2147483647);
  return Array.from({ length: count }, () => next() % n).map((from) => ({ from: `n${from}`, to: `n${(from + (next() % near)) % n}` }));
};

test('no graph has no size', () => {
  expect(placeGraph({ boxes: [], links: [], direction: 'down' })).toEqual({ width: 0, height: 0, boxes: {}, links: [] });
});

test('a flow goes down, a map to the right', () => {
  const shape = { boxes: boxes(3), links: [{ from: 'n0', to: 'n1' }, { from: 'n1', to: 'n2', label: { width: 40, height: 18 } }] };
  const down = placeGraph({ ...shape, direction: 'down' });
  expect([down.boxes.n0!.y < down.boxes.n1!.y, down.boxes.n1!.y < down.boxes.n2!.y, down.boxes.n0!.x]).toEqual([true, true, 0]);
  const right = placeGraph({ ...shape, direction: 'right' });
  expect([right.boxes.n0!.x < right.boxes.n1!.x, right.boxes.n1!.x < right.boxes.n2!.x, right.boxes.n0!.y]).toEqual([true, true, 0]);
  expect(down.links.map((link) => link.points.length >= 2)).toEqual([true, true]);
  expect([down.links[0]!.label, down.links[1]!.label]).toEqual([undefined, { x: expect.any(Number), y: expect.any(Number) }]);
});

test('loops, links to itself, double links and links to nothing are no trouble', () => {
  const all = boxes(3);
  const placed = placeGraph({ boxes: all, links: [{ from: 'n0', to: 'n1' }, { from: 'n1', to: 'n0' }, { from: 'n0', to: 'n1' }, { from: 'n2', to: 'n2' }, { from: 'n0', to: 'gone' }], direction: 'down' });
  expect(overlap(all, placed.boxes)).toEqual([]);
  expect(placed.links.map((link) => link.points.length > 0)).toEqual([true, true, true, false, false]);
});

test('nothing overlaps, whatever is connected, and everything is inside', () => {
  for (const [n, count, near] of [[30, 20, 30], [50, 70, 50], [160, 170, 8], [500, 200, 12]] as const) {
    const all = boxes(n);
    const placed = placeGraph({ boxes: all, links: links(n, count, near), direction: 'right' });
    expect(overlap(all, placed.boxes)).toEqual([]);
    for (const box of all) {
      const at = placed.boxes[box.id]!;
      expect(at.x >= 0 && at.y >= 0 && at.x + box.width <= placed.width + 1 && at.y + box.height <= placed.height + 1).toBe(true);
    }
  }
});

test('a large part that is one loop of loops is placed as well, with every link', () => {
  const all = boxes(500);
  const rings = all.flatMap((box, i): Link[] => [{ from: box.id, to: `n${(i + 1 + (i % 3)) % 500}` }, { from: box.id, to: `n${(i + 11) % 500}` }]);
  const placed = placeGraph({ boxes: all, links: rings, direction: 'right' });
  expect(overlap(all, placed.boxes)).toEqual([]);
  expect(placed.links.every((link) => link.points.length >= 2)).toBe(true);
});

test('arrow keys lead to the box on that side', () => {
  const at = [['a', 0, 0], ['b', 300, 0], ['c', 0, 100], ['d', 320, 110]].map(([id, x, y]) => ({ id: id as string, x: x as number, y: y as number, width: 200, height: 40 }));
  expect((['up', 'down', 'left', 'right'] as const).map((direction) => nearestInDirection(at, 'a', direction))).toEqual([undefined, 'c', undefined, 'b']);
  expect(nearestInDirection(at, 'd', 'left')).toBe('c');
  expect(nearestInDirection(at, 'gone', 'left')).toBe('a');
});
