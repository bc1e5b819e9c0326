/** One line of a difference. Lines of a file are numbered from 1. */
export interface PatchLine {
  kind: 'same' | 'removed' | 'added';
  text: string;
  old?: number;
  new?: number;
  /** The part that differs from the line that it takes the place of: from, to. */
  mark?: [from: number, to: number];
}

export interface Patch {
  /** Parts that differ, with a few lines around them; what lies between is the same. */
  hunks: { old: number; new: number; lines: PatchLine[] }[];
  added: number;
  removed: number;
}

const head = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

/** Reads a unified diff of one file, as the API writes it. */
export function parsePatch(text: string): Patch {
  const patch: Patch = { hunks: [], added: 0, removed: 0 };
  let hunk: Patch['hunks'][number] | undefined;
  let [before, after] = [0, 0];
  const lines = text.split('\n');
  if (lines[lines.length - 1] === '') lines.pop();
  for (const line of lines) {
    const at = head.exec(line);
    if (at) {
      [before, after] = [Number(at[1]), Number(at[2])];
      hunk = { old: before, new: after, lines: [] };
      patch.hunks.push(hunk);
    } else if (!hunk || line.startsWith('\\')) continue; // names of the files; "no newline at the end"
    else if (line.startsWith('-')) {
      hunk.lines.push({ kind: 'removed', text: line.slice(1), old: before++ });
      patch.removed++;
    } else if (line.startsWith('+')) {
      hunk.lines.push({ kind: 'added', text: line.slice(1), new: after++ });
      patch.added++;
    } else hunk.lines.push({ kind: 'same', text: line.slice(1), old: before++, new: after++ });
  }
  for (const { lines } of patch.hunks) markWords(lines);
  return patch;
}

/** A row of the view beside each other: what was, what is. */
export type PatchRow = [before: PatchLine | undefined, after: PatchLine | undefined];

/** The lines of a hunk beside each other: the first removed line stands at the first added one. */
export function besideEachOther(lines: PatchLine[]): PatchRow[] {
  const rows: PatchRow[] = [];
  for (const [removed, added, same] of runs(lines)) {
    for (let i = 0; i < Math.max(removed.length, added.length); i++) rows.push([removed[i], added[i]]);
    if (same) rows.push([same, same]);
  }
  return rows;
}

/** Runs of removed and added lines, each with the unchanged line that ends it. */
function* runs(lines: PatchLine[]): Generator<[removed: PatchLine[], added: PatchLine[], same: PatchLine | undefined]> {
  let removed: PatchLine[] = [];
  let added: PatchLine[] = [];
  for (const line of lines) {
    if (line.kind === 'removed') removed.push(line);
    else if (line.kind === 'added') added.push(line);
    else {
      yield [removed, added, line];
      [removed, added] = [[], []];
    }
  }
  yield [removed, added, undefined];
}

/** Marks what differs in lines that take the place of others: all but their common beginning and end. */
function markWords(lines: PatchLine[]): void {
  for (const [removed, added] of runs(lines)) {
    for (let i = 0; i < Math.min(removed.length, added.length); i++) {
      const [a, b] = [removed[i]!.text, added[i]!.text];
      let start = 0;
      while (start < a.length && start < b.length && a[start] === b[start]) start++;
      let end = 0;
      while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
      // Lines with nothing but their indent in common are two lines, not one that changed.
      if (a.slice(0, start).trim() === '' && a.slice(a.length - end).trim() === '') continue;
      removed[i]!.mark = [start, a.length - end];
      added[i]!.mark = [start, b.length - end];
    }
  }
}
