import { expect, test } from 'vitest';
import { countKinds, itemsByFile } from './imported.ts';

test('documents are counted by kind, also in an archive of many workspaces', () => {
  expect(countKinds(['automations/a', 'index', 'automations/b/c', 'pages/index'])).toEqual([
    { kind: 'index', count: 1 },
    { kind: 'automations', count: 2 },
    { kind: 'pages', count: 1 },
  ]);
  expect(countKinds(['p7MSR49/automations/a', 'p7MSR49/index'])).toEqual([{ kind: 'index', count: 1 }, { kind: 'automations', count: 1 }]);
});

test('what is wrong is told by file and line, errors first', () => {
  const item = (filepath: string, line: number) => ({ msg: 'm', err: 'e', filepath, line });
  const files = itemsByFile({ imported: [], deleted: [], errors: [item('b.yml', 9), item('b.yml', 2)], warnings: [item('a.yml', 1), item('b.yml', 4)] });
  expect(files.map((file) => [file.file, file.errors.map((e) => e.line), file.warnings.map((e) => e.line)])).toEqual([
    ['b.yml', [2, 9], [4]],
    ['a.yml', [], [1]],
  ]);
});
