import type { Schema } from '../../lib/api/client.ts';
import { csvCell } from '../../lib/csv.ts';

export type BulkKind = 'push' | 'import';
export type Item = Schema<'ImportItem'>;

/** How one workspace stands in a plan, in a run and in its result. `candidate` and `waiting` are yet to come. */
export type BulkStatus = 'candidate' | 'waiting' | 'error' | 'mergeConflict' | 'inProgress' | 'alreadyPushed' | 'pushed' | 'created' | 'updated' | 'imported' | 'skipped';

/** One workspace of a bulk run. */
export interface BulkRow {
  slug: string;
  /** Empty: there is none yet. */
  workspaceId: string;
  name: string;
  status: BulkStatus;
  reason?: string;
  /** Milliseconds, once it was done. */
  duration?: number;
  version?: string;
  /** Documents that an import writes and deletes, where they are known by name. */
  files: string[];
  deleted: string[];
  fileCount: number;
  deletedCount: number;
  /** An import replaces what was changed here and never pushed. */
  losesChanges: boolean;
  errors: Item[];
  warnings: Item[];
}

const emptyRow = { workspaceId: '', name: '', files: [], deleted: [], fileCount: 0, deletedCount: 0, losesChanges: false, errors: [], warnings: [] };

export function rowsOfPushPlan(plan: Schema<'BulkPushPlan'>): BulkRow[] {
  return plan.workspaces.map((one) => ({ ...emptyRow, ...one }));
}

export function rowsOfImportPlan(plan: Schema<'BulkImportPlan'>): BulkRow[] {
  return plan.workspaces.map((one) => ({
    ...emptyRow,
    slug: one.slug,
    workspaceId: one.workspaceId ?? '',
    name: one.name ?? '',
    version: one.version,
    status: one.wouldImport,
    files: one.files,
    deleted: one.deleted,
    fileCount: one.files.length,
    deletedCount: one.deleted.length,
    losesChanges: one.localChangesLost,
    errors: one.errors,
    warnings: one.warnings,
  }));
}

/** What a run does, as its events tell it: the plan, then each workspace as it is done. */
export function applyBulkEvent(rows: BulkRow[], type: string, payload: Record<string, unknown>): BulkRow[] {
  if (type.endsWith('.started')) {
    const planned = payload.workspaces as Partial<BulkRow>[];
    return planned.map((one) => ({ ...emptyRow, ...(one as BulkRow), status: one.status === undefined || one.status === 'candidate' ? 'waiting' : one.status }));
  }
  if (!type.endsWith('.progress')) return rows;
  const done = payload as unknown as { workspaceSlug: string; workspaceId?: string; workspaceName?: string; status: BulkStatus; reason?: string; duration: number; importedFilesCount?: number; deletedFilesCount?: number; errors: Item[]; warnings?: Item[] };
  return rows.map((row) =>
    row.slug === done.workspaceSlug
      ? { ...row, workspaceId: done.workspaceId ?? row.workspaceId, name: done.workspaceName ?? row.name, status: done.status, reason: done.reason, duration: done.duration, fileCount: done.importedFilesCount ?? 0, deletedCount: done.deletedFilesCount ?? 0, errors: done.errors, warnings: done.warnings ?? [] }
      : row,
  );
}

export type BulkResult = Schema<'BulkPushResult'> | Schema<'BulkImportResult'>;

/** The workspaces of a run that has ended. What the events said of one beyond the result stays. */
export function rowsOfResult(result: BulkResult, before: BulkRow[]): BulkRow[] {
  const known = new Map(before.map((row) => [row.slug, row]));
  const created = new Set('createdWorkspaceIds' in result ? result.createdWorkspaceIds : []);
  return (result.workspaces as (Schema<'BulkPushResult'>['workspaces'][number] & Partial<Schema<'BulkImportResult'>['workspaces'][number]>)[]).map((one) => {
    const row = known.get(one.slug) ?? { ...emptyRow, slug: one.slug, status: one.status as BulkStatus };
    const status = (one.status as string) === 'imported' ? (created.has(one.workspaceId) ? 'created' : 'updated') : (one.status as BulkStatus);
    return { ...row, workspaceId: one.workspaceId, name: one.name, version: one.version, status, reason: one.reason || undefined, duration: isLeftOut(status) ? undefined : one.duration, fileCount: one.importedFilesCount ?? 0, deletedCount: one.deletedFilesCount ?? 0, errors: row.errors.length > one.errors.length ? row.errors : one.errors };
  });
}

/** A push left it out: it could not be pushed, or there was nothing to push. */
function isLeftOut(status: BulkStatus): boolean {
  return status === 'mergeConflict' || status === 'inProgress' || status === 'alreadyPushed';
}

/** Order of the statuses on the screen: what needs somebody first. */
export const statusOrder: BulkStatus[] = ['error', 'mergeConflict', 'inProgress', 'candidate', 'waiting', 'created', 'updated', 'imported', 'pushed', 'skipped', 'alreadyPushed'];

/** How many workspaces have each status, without those that none has. */
export function countStatuses(rows: BulkRow[]): { status: BulkStatus; count: number }[] {
  return statusOrder.map((status) => ({ status, count: rows.filter((row) => row.status === status).length })).filter(({ count }) => count > 0);
}

/** Errors first, the rest in the order of the plan. */
export function errorsFirst(rows: BulkRow[]): BulkRow[] {
  return [...rows.filter((row) => row.status === 'error'), ...rows.filter((row) => row.status !== 'error')];
}

/** How many workspaces a run is about, and how many of them are done. */
export function progressOf(rows: BulkRow[]): { done: number; total: number } {
  const waiting = rows.filter((row) => row.status === 'waiting').length;
  const done = rows.filter((row) => row.duration !== undefined).length;
  return { done, total: done + waiting };
}

/** The rows as a file for spreadsheets. */
export function toCsv(rows: BulkRow[]): string {
  const head = ['slug', 'workspaceId', 'name', 'version', 'status', 'reason', 'duration', 'filesImported', 'filesDeleted', 'errors'];
  const lines = rows.map((row) => [row.slug, row.workspaceId, row.name, row.version, row.status, row.reason, row.duration, row.fileCount, row.deletedCount, row.errors.map((one) => one.msg).join('; ')]);
  return [head, ...lines].map((line) => `${line.map(csvCell).join(',')}\r\n`).join('');
}
