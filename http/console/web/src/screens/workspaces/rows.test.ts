import { expect, test } from 'vitest';
import { appendRows, mergeRows, type WorkspaceRow } from './rows.ts';

const row = (id: string, updatedAt: string, name = id): WorkspaceRow => ({ id, name, labels: [], dirty: false, contentRevision: 1, createdAt: updatedAt, updatedAt });
const ids = (rows: WorkspaceRow[]): string => rows.map((one) => one.id).join('');
const rows = [row('c', '2026-03'), row('b', '2026-02'), row('a', '2026-01')];

test('a changed row moves to its place', () => {
  expect(ids(mergeRows(rows, new Set(['a']), [row('a', '2026-04')], '-updatedAt', true))).toBe('acb');
  expect(ids(mergeRows(rows, new Set(['a']), [row('a', '2026-04', 'Z')], 'name', true))).toBe('bca');
});

test('a row that does not match any more goes', () => {
  expect(ids(mergeRows(rows, new Set(['b']), [], '-updatedAt', true))).toBe('ca');
});

test('a new row comes, unless it belongs to a later page', () => {
  const fresh = [row('d', '2026-00'), row('e', '2026-02-15')];
  expect(ids(mergeRows(rows, new Set(['d', 'e']), fresh, '-updatedAt', true))).toBe('cebad');
  expect(ids(mergeRows(rows, new Set(['d', 'e']), fresh, '-updatedAt', false))).toBe('ceba');
  expect(ids(mergeRows([], new Set(['d']), [row('d', '2026')], '-updatedAt', false))).toBe('d');
});

test('a page is added without what moved onto it', () => {
  expect(ids(appendRows(rows, [row('a', '2026-01'), row('0', '2025')]))).toBe('cba0');
});
