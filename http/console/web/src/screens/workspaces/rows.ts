import type { Schema } from '../../lib/api/client.ts';

export type WorkspaceRow = Schema<'WorkspaceMeta'>;

/** What the server sorts by; `-` before it for the other way round. */
export const defaultSort = '-updatedAt';

function compare(a: WorkspaceRow, b: WorkspaceRow, sort: string): number {
  const down = sort.startsWith('-');
  const field = (down ? sort.slice(1) : sort) as 'name' | 'createdAt' | 'updatedAt';
  const x = String(a[field] ?? '').toLowerCase();
  const y = String(b[field] ?? '').toLowerCase();
  const order = x < y ? -1 : x > y ? 1 : a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
  return down ? -order : order;
}

/**
 * Rows after some workspaces changed: those that match the filter now (`fresh`) take their
 * places, the others of `touched` go. Of a list that has more pages, a row that belongs
 * behind the last one is left for its page.
 */
export function mergeRows(rows: WorkspaceRow[], touched: Set<string>, fresh: WorkspaceRow[], sort: string, complete: boolean): WorkspaceRow[] {
  const kept = rows.filter((row) => !touched.has(row.id));
  const last = kept[kept.length - 1];
  const placed = complete || !last ? fresh : fresh.filter((row) => compare(row, last, sort) < 0);
  return [...kept, ...placed].sort((a, b) => compare(a, b, sort));
}

/** Adds a page. What moved onto it from the one before is there already. */
export function appendRows(rows: WorkspaceRow[], page: WorkspaceRow[]): WorkspaceRow[] {
  const known = new Set(rows.map((row) => row.id));
  return [...rows, ...page.filter((row) => !known.has(row.id))];
}
