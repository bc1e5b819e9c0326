import { expect, test } from 'vitest';
import { besideEachOther, parsePatch } from './patch.ts';

const text = `--- a/automations/charge.yml
+++ b/automations/charge.yml
@@ -1,4 +1,5 @@
 slug: charge
-name: Charge
+name: Charge card
+description: Takes money
 do: []
 output: 1
@@ -20,2 +21,1 @@
-a: 1
-b: 2
+other
\\ No newline at end of file
`;

test('a unified diff is read with its numbers, counts and words', () => {
  const patch = parsePatch(text);
  expect([patch.added, patch.removed, patch.hunks.length]).toEqual([3, 3, 2]);
  const [first, second] = patch.hunks;
  expect(first!.lines.map((line) => [line.kind[0], line.old ?? 0, line.new ?? 0])).toEqual([['s', 1, 1], ['r', 2, 0], ['a', 0, 2], ['a', 0, 3], ['s', 3, 4], ['s', 4, 5]]);
  expect(first!.lines[1]!.mark).toEqual([12, 12]);
  expect(first!.lines[2]!.mark).toEqual([12, 17]);
  expect(second!.lines.some((line) => line.mark)).toBe(false);
  expect([second!.old, second!.new]).toEqual([20, 21]);
});

test('removed and added lines stand beside each other', () => {
  const rows = besideEachOther(parsePatch(text).hunks[0]!.lines);
  expect(rows.map(([before, after]) => [before?.text, after?.text])).toEqual([
    ['slug: charge', 'slug: charge'],
    ['name: Charge', 'name: Charge card'],
    [undefined, 'description: Takes money'],
    ['do: []', 'do: []'],
    ['output: 1', 'output: 1'],
  ]);
});

test('what begins with a sign that a diff uses is kept', () => {
  const { hunks } = parsePatch('@@ -1,1 +1,1 @@\n--- a\n+++ b\n');
  expect(hunks[0]!.lines.map((line) => line.text)).toEqual(['-- a', '++ b']);
});
