import { expect, test } from 'vitest';

type Tree = { [key: string]: string | ((...values: never[]) => string) | Tree };

/** Words that are the same in both languages. */
const same = new Set(['Menu', 'Palette', 'Actions', 'Action', 'Page', 'Pages', 'Code', 'svc', 'Push', 'Pull', 'Type', 'Date', 'Version', 'JSON', 'Description', 'Sessions', 'Session', 'Secrets', 'SHA-256', 'Source', 'Index', 'Contexts', 'Message', 'CSV', 'YAML', 'Automation', 'Total', 'Note', 'Webhooks', 'Tests', 'Versions', 'Trace', 'Collections', 'Collection', 'Global', 'absent', 'Format', 'page', 'Catalogue', 'Documentation', 'Documents', 'Passages', 'Mode', 'Site', 'Sources', 'Secret', 'PDF', 'Word', 'Excel', 'Markdown', 'Agent', 'Agents', 'Public', 'Instructions', 'Conversation', 'Conversations', '']);

function compare(left: Tree, right: Tree, path: string, faults: string[]): void {
  for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) {
    const [a, b] = [left[key], right[key]];
    const at = `${path}.${key}`;
    if (a === undefined || b === undefined) faults.push(`${at} is in one language only`);
    else if (typeof a !== typeof b) faults.push(`${at} has another kind of value`);
    else if (typeof a === 'object') compare(a, b as Tree, at, faults);
    else if (typeof a === 'string' && a === b && !same.has(a) && /[a-z]{3}/i.test(a)) faults.push(`${at} is not translated: ${a}`);
    else if (typeof a === 'string' && /[!]|please|oops|successfully/i.test(`${a} ${b as string}`)) faults.push(`${at}: ${a}`);
  }
}

/** All namespaces of a language, by file. */
function catalogue(files: Record<string, unknown>): Tree {
  return Object.fromEntries(Object.entries(files).map(([file, messages]) => [/(\w+)\.ts$/.exec(file)![1]!, messages as Tree]));
}
const en = catalogue(import.meta.glob(['./en/*.ts', '!./en/index.ts'], { import: 'default', eager: true }));
const fr = catalogue(import.meta.glob(['./fr/*.ts', '!./fr/index.ts'], { import: 'default', eager: true }));

test('French has every message of English, in French', () => {
  const faults: string[] = [];
  compare(en, fr, 't', faults);
  expect(faults).toEqual([]);
});
