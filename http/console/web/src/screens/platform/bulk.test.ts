import { expect, test } from 'vitest';
import { applyBulkEvent, countStatuses, errorsFirst, progressOf, rowsOfImportPlan, rowsOfResult, toCsv, type BulkResult, type BulkRow } from './bulk.ts';

const started = { workspaces: [{ slug: 'a', workspaceId: 'A', name: 'Aa', status: 'candidate' }, { slug: 'b', workspaceId: 'B', name: 'Bb', status: 'candidate' }, { slug: 'c', workspaceId: 'C', name: 'Cc', status: 'alreadyPushed' }] };
const run = (...events: [string, Record<string, unknown>][]): BulkRow[] => events.reduce<BulkRow[]>((rows, [type, payload]) => applyBulkEvent(rows, type, payload), []);

test('the events of a run become rows', () => {
  const rows = run(
    ['workspaces.bulkPush.started', started],
    ['workspaces.bulkPush.progress', { workspaceSlug: 'b', workspaceId: 'B', workspaceName: 'Bb', status: 'error', reason: 'not_up_to_date', duration: 7, errors: [{ msg: 'behind', err: 'not_up_to_date', filepath: 'b' }] }],
  );
  expect(rows.map(({ slug, status }) => [slug, status])).toEqual([['a', 'waiting'], ['b', 'error'], ['c', 'alreadyPushed']]);
  expect(errorsFirst(rows).map(({ slug }) => slug)).toEqual(['b', 'a', 'c']);
  expect(progressOf(rows)).toEqual({ done: 1, total: 2 });
  expect(countStatuses(rows)).toEqual([{ status: 'error', count: 1 }, { status: 'waiting', count: 1 }, { status: 'alreadyPushed', count: 1 }]);
  // The stream begins anew after a reload: the plan is not added twice.
  expect(applyBulkEvent(rows, 'workspaces.bulkPush.started', started)).toHaveLength(3);
});

test('an import begins with slugs, and its result says what was created', () => {
  const rows = run(['workspaces.bulkImport.started', { workspaces: [{ slug: 'a' }, { slug: 'b' }] }], ['workspaces.bulkImport.progress', { workspaceSlug: 'a', workspaceId: 'A', status: 'imported', duration: 3, importedFilesCount: 2, deletedFilesCount: 1, errors: [], warnings: [] }]);
  expect(rows.map(({ status, fileCount, deletedCount }) => [status, fileCount, deletedCount])).toEqual([['imported', 2, 1], ['waiting', 0, 0]]);
  const ended = rowsOfResult({ createdWorkspaceIds: ['A'], workspaces: [{ slug: 'a', workspaceId: 'A', name: 'Aa', version: 'v1', status: 'imported', errors: [], importedFilesCount: 2, deletedFilesCount: 1, duration: 3 }, { slug: 'b', workspaceId: 'B', name: 'Bb', version: '', status: 'imported', errors: [], importedFilesCount: 1, deletedFilesCount: 0, duration: 4 }] } as unknown as BulkResult, rows);
  expect(ended.map(({ slug, status }) => [slug, status])).toEqual([['a', 'created'], ['b', 'updated']]);
  expect(toCsv(ended).split('\r\n')[1]).toBe('a,A,Aa,v1,created,,3,2,1,');
});

test('a plan of an import counts files', () => {
  const [row] = rowsOfImportPlan({ dryRun: true, repositoryId: 'main', groups: [], total: 1, warnings: [], workspaces: [{ slug: 'a', wouldImport: 'updated', files: ['index.yml'], deleted: [], localChangesLost: true, errors: [], warnings: [] }] });
  expect(row).toMatchObject({ slug: 'a', status: 'updated', fileCount: 1, losesChanges: true, workspaceId: '' });
});
