/* What changed in the fields of an object: for forms that save single fields, and for their comparison. */

export type Fields = Record<string, unknown>;

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** What a save sends: the fields that changed, null for those that went. */
export function changesOf(before: Fields, after: Fields): Fields {
  const changes: Fields = {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (!same(before[name], after[name])) changes[name] = after[name] === undefined ? null : after[name];
  }
  return changes;
}

/** Mine on top of theirs: what I did not touch stays as they have it. */
export function mineOnTheirs(base: Fields, mine: Fields, theirs: Fields): Fields {
  const merged = { ...theirs };
  for (const [name, value] of Object.entries(changesOf(base, mine))) {
    if (value === null && mine[name] === undefined) delete merged[name];
    else merged[name] = value;
  }
  return merged;
}

/** Fields that differ between three states, for the comparison of a stale save. */
export function compareFields(base: Fields, mine: Fields, theirs: Fields): { name: string; base: unknown; mine: unknown; theirs: unknown; both: boolean }[] {
  return [...new Set([...Object.keys(base), ...Object.keys(mine), ...Object.keys(theirs)])]
    .filter((name) => !same(mine[name], base[name]) || !same(theirs[name], base[name]))
    .map((name) => ({ name, base: base[name], mine: mine[name], theirs: theirs[name], both: !same(mine[name], base[name]) && !same(theirs[name], base[name]) && !same(mine[name], theirs[name]) }));
}

/** A value as one line of text. */
export function fieldText(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
