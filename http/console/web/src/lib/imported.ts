import type { Schema } from './api/client.ts';

type ImportResult = Schema<'ImportResult'>;
type ImportItem = Schema<'ImportItem'>;

export type ImportedKind = 'automations' | 'pages' | 'imports' | 'files' | 'index' | 'security' | 'other';

/** How many documents of each kind an import brings, in the order in which they are shown. */
export function countKinds(paths: string[]): { kind: ImportedKind; count: number }[] {
  const kinds: ImportedKind[] = ['index', 'security', 'automations', 'pages', 'imports', 'files', 'other'];
  const counts = new Map<ImportedKind, number>();
  for (const path of paths) {
    // In an archive of many workspaces the id of the workspace stands before it.
    const [first, second] = path.split('/');
    const kind = kinds.find((one) => one === first) ?? kinds.find((one) => one === second) ?? 'other';
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return kinds.flatMap((kind) => (counts.has(kind) ? [{ kind, count: counts.get(kind)! }] : []));
}

/** Errors and warnings by file, files with errors first. */
export function itemsByFile(plan: ImportResult): { file: string; errors: ImportItem[]; warnings: ImportItem[] }[] {
  const files = new Map<string, { file: string; errors: ImportItem[]; warnings: ImportItem[] }>();
  const of = (file: string) => {
    let entry = files.get(file);
    if (!entry) files.set(file, (entry = { file, errors: [], warnings: [] }));
    return entry;
  };
  for (const item of plan.errors) of(item.filepath).errors.push(item);
  for (const item of plan.warnings) of(item.filepath).warnings.push(item);
  const byLine = (a: ImportItem, b: ImportItem): number => (a.line ?? 0) - (b.line ?? 0);
  for (const entry of files.values()) {
    entry.errors.sort(byLine);
    entry.warnings.sort(byLine);
  }
  return [...files.values()].sort((a, b) => Number(b.errors.length > 0) - Number(a.errors.length > 0) || (a.file < b.file ? -1 : 1));
}
