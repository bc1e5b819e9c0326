import { expect, test } from 'vitest';
import { axisRows, axisSpan, axisTicks, type AxisNode } from './timeaxis.ts';

const node = (id: string, start: number, end: number | undefined, children: AxisNode[] = []): AxisNode => ({ id, label: id, icon: 'automation', start, end, children });

test('rows leave out what is below closed nodes', () => {
  const tree = [node('a', 0, 10, [node('b', 1, 2, [node('c', 1, 1)])]), node('d', 5, 6)];
  expect(axisRows(tree, () => true).map((row) => [row.node.id, row.depth, row.parent])).toEqual([['a', 0, undefined], ['b', 1, 'a'], ['c', 2, 'b'], ['d', 0, undefined]]);
  expect(axisRows(tree, (one) => one.id !== 'b').map((row) => row.node.id)).toEqual(['a', 'b', 'd']);
});

test('the span reaches from the first to the last moment, to now while something goes on', () => {
  expect(axisSpan([node('a', 100, 200, [node('b', 150, 900)])], 0)).toEqual({ from: 100, to: 900 });
  expect(axisSpan([node('a', 100, undefined)], 700)).toEqual({ from: 100, to: 700 });
  expect(axisSpan([node('a', 100, 100)], 0)).toEqual({ from: 100, to: 101 });
  expect(axisSpan([], 5)).toEqual({ from: 5, to: 6 });
});

test('ticks are round and few', () => {
  expect(axisTicks(201)).toEqual([0, 50, 100, 150, 200]);
  expect(axisTicks(1)).toEqual([0, 1]);
  expect(axisTicks(7_200_000)).toEqual([0, 1_800_000, 3_600_000, 5_400_000, 7_200_000]);
  for (const length of [3, 47, 999, 12_345, 777_777, 86_400_000, 30 * 86_400_000]) expect(axisTicks(length).length).toBeLessThan(9);
});
