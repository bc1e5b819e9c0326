/** A cell as RFC 4180 wants it. Text that a spreadsheet would run as a formula is led by an apostrophe. */
export function csvCell(value: unknown): string {
  let cell = value === undefined || value === null ? '' : String(value);
  if (typeof value === 'string' && /^[=+\-@\t\r]/.test(cell)) cell = `'${cell}`;
  return /[",\n\r]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
