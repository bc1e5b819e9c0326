/** How many letters have to be changed to make one text of the other; two that changed places are one change. */
export function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      let least = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) least = Math.min(least, before[j - 2]! + 1);
      next.push(least);
    }
    before = row;
    row = next;
  }
  return row[b.length]!;
}

/** The names most like the wanted one, best first: for "Did you mean". */
export function nearestNames(wanted: string, names: string[], limit = 3): string[] {
  const text = wanted.toLowerCase();
  return names
    .map((name) => ({ name, distance: name.toLowerCase().includes(text) ? 0 : editDistance(text, name.toLowerCase()) }))
    .filter((one) => one.distance <= Math.max(2, text.length / 2))
    .sort((a, b) => a.distance - b.distance || a.name.localeCompare(b.name))
    .slice(0, limit)
    .map((one) => one.name);
}
