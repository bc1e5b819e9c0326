// Everything that CI wants of the console's sources: types, unit tests, lint, messages, generated
// types, byte budgets, and that ../dist is what these sources build.
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const web = join(dirname(fileURLToPath(import.meta.url)), '..');
const faults = [];

function run(name, file, args, env = {}) {
  try {
    execFileSync(process.execPath, [join(web, 'node_modules', file), ...args], { cwd: web, stdio: 'inherit', env: { ...process.env, ...env } });
  } catch {
    faults.push(`${name} failed`);
  }
}
/** Runs a program beside the rest, and shows what it says when it has ended. */
function runBeside(name, file, args) {
  return new Promise((done) => {
    execFile(process.execPath, [join(web, 'node_modules', file), ...args], { cwd: web, maxBuffer: 64 << 20 }, (error, said, faultsSaid) => {
      process.stdout.write(said + faultsSaid);
      if (error) faults.push(`${name} failed`);
      done();
    });
  });
}
function filesIn(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? filesIn(join(folder, entry.name)) : [join(folder, entry.name)]));
}

const typesChecked = runBeside('svelte-check', 'svelte-check/bin/svelte-check', ['--tsconfig', './tsconfig.json', '--fail-on-warnings']);
run('unit tests', 'vitest/vitest.mjs', ['run']);
try {
  execFileSync(process.execPath, [join(web, 'scripts/api-types.mjs'), '--check'], { stdio: 'inherit' });
} catch {
  faults.push('the generated types are old');
}

const core = [...readFileSync(join(web, 'src/messages/en/index.ts'), 'utf8').matchAll(/^import (\w+) from/gm)].map((match) => match[1]);
const lazyNamespaces = readdirSync(join(web, 'src/messages/en')).map((file) => file.replace(/\.ts$/, '')).filter((name) => name !== 'index' && !core.includes(name));

// Rules of 6.2 and 6.1: no markup from data, no inline style, no path of the API by hand, no other host.
for (const file of filesIn(join(web, 'src'))) {
  if (!/\.(svelte|ts)$/.test(file) || /schema\.d\.ts$|\.test\.ts$/.test(file)) continue;
  const text = readFileSync(file, 'utf8');
  const rules = [
    [/\{@html\b/, '{@html} puts data into the page as markup'],
    [/\sstyle="/, 'style="…" is refused by the policy: use a class or style:'],
    [/\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write)\b/, 'markup from text'],
    [/#[0-9a-f]{6}\b(?![^<]*<\/svg>)/i, 'a colour that is not a token'],
    [/fetch\(\s*[`'"]\/v2/, 'a path of the API by hand: use api or urlOf'],
  ];
  // Messages of a screen are loaded with it: others cannot count on them.
  const lazy = lazyNamespaces.filter((name) => !file.startsWith(join(web, 'src/screens', name) + '/'));
  if (lazy.length > 0 && !file.includes('/messages/')) rules.push([new RegExp(`^(?!\\s*(?:\\*|//)).*\\bt\\.(${lazy.join('|')})\\b`, 'm'), 'messages of another screen: move them to common or shell']);
  for (const [pattern, why] of rules) {
    const at = text.search(pattern);
    if (at >= 0) faults.push(`${relative(web, file)}:${text.slice(0, at).split('\n').length}: ${why}`);
  }
}

// Build beside dist and compare: the build is reproducible and dist is committed with its sources.
const out = join(web, '.build/dist');
rmSync(out, { recursive: true, force: true });
run('build', 'vite/bin/vite.js', ['build', '--logLevel', 'warn'], { OUT_DIR: '.build/dist' });
const dist = join(web, '../dist');
const built = filesIn(out).map((file) => relative(out, file));
const committed = filesIn(dist).map((file) => relative(dist, file));
const differing = [...new Set([...built, ...committed])].filter(
  (file) => !built.includes(file) || !committed.includes(file) || !readFileSync(join(out, file)).equals(readFileSync(join(dist, file))),
);
if (differing.length > 0) faults.push(`dist is not what the sources build (${differing.slice(0, 3).join(', ')}${differing.length > 3 ? '…' : ''}): run npm run build`);

// The script and the style sheet of pages, in the same way.
const pagesOut = join(web, '.build/pages');
run('build of pages', 'vite/bin/vite.js', ['build', '-c', 'vite.pages.config.ts'], { PAGES_OUT: pagesOut });
for (const [file, limit] of [['pages.js', 20_000], ['pages.css', 15_000]]) {
  const text = readFileSync(join(pagesOut, file));
  if (!text.equals(readFileSync(join(web, '../../pages/dist', file)))) faults.push(`http/pages/dist/${file} is not what the sources build: run npm run build`);
  const bytes = gzipSync(text, { level: 9 }).length;
  if (bytes > limit) faults.push(`${file} of pages: ${bytes} bytes, ${limit} allowed`);
}

// Budgets of 6.4, gzip.
const size = (file) => statSync(join(out, `${file}.gz`)).size;
const chunks = new Map(JSON.parse(readFileSync(join(web, '.build/report.json'), 'utf8')).map((chunk) => [chunk.file, chunk]));
function closure(file, seen = new Set()) {
  if (seen.has(file) || !chunks.has(file)) return seen;
  seen.add(file);
  for (const next of chunks.get(file).imports) closure(next, seen);
  return seen;
}
const budgets = [];
const budget = (name, bytes, limit) => budgets.push({ name, bytes, limit });
const sum = (files) => [...files].reduce((total, file) => total + size(file), 0);
const entry = [...chunks.values()].find((chunk) => chunk.entry).file;
const initial = closure(entry);
budget('initial JS', sum(initial), 60_000);
// One style sheet for all screens: see ADR 27.
budget('CSS', sum(built.filter((file) => file.endsWith('.css.gz')).map((file) => file.slice(0, -3))), 16_000);
const isEditor = (chunk) => chunk.modules.some((id) => /node_modules\/(@codemirror|@lezer)\//.test(id));
const isMerge = (chunk) => chunk.modules.some((id) => /@codemirror\/merge/.test(id));
const isYaml = (chunk) => chunk.modules.some((id) => /node_modules\/yaml\//.test(id));
const isChart = (chunk) => chunk.modules.some((id) => /node_modules\/uplot\//.test(id));
const special = (file) => [isEditor, isMerge, isYaml, isChart].some((is) => is(chunks.get(file)));
const editor = [...chunks.values()].filter((chunk) => isEditor(chunk) && !isMerge(chunk)).map((chunk) => chunk.file);
if (editor.length > 0) budget('editor with YAML and JSON', sum(editor), 180_000);
for (const [name, is, limit] of [['merge view', isMerge, 12_000], ['YAML document', isYaml, 32_000], ['charts', isChart, 25_000]]) {
  const files = [...chunks.values()].filter(is).map((chunk) => chunk.file);
  if (files.length > 0) budget(name, sum(files), limit);
}
for (const chunk of chunks.values()) {
  // A language, as a page loads it: what all need and the largest screen.
  const language = /^src\/messages\/(\w+)\/index\.ts$/.exec(chunk.source ?? '')?.[1];
  if (language) {
    const screens = [...chunks.values()].filter((one) => one !== chunk && one.source?.startsWith(`src/messages/${language}/`)).map((one) => size(one.file));
    budget(`language ${language}`, size(chunk.file) + Math.max(0, ...screens), 15_000);
  }
  // A route: its chunk with what only routes share, without what is loaded at the start.
  const screen = /^src\/screens\/([^/]+)\//.exec(chunk.source ?? '')?.[1];
  if (screen) budget(`route ${chunk.source.slice(12)}`, sum([...closure(chunk.file)].filter((file) => !initial.has(file) && !special(file))), 20_000);
}
budget('dist', filesIn(out).reduce((total, file) => total + statSync(file).size, 0), 3_000_000);
console.log('\nbudgets, bytes of gzip:');
for (const { name, bytes, limit } of budgets.sort((a, b) => b.bytes / b.limit - a.bytes / a.limit)) {
  console.log(`  ${String(bytes).padStart(8)} / ${String(limit).padStart(8)}  ${name}`);
  if (bytes > limit) faults.push(`${name}: ${bytes} bytes, ${limit} allowed`);
}

await typesChecked;
if (faults.length > 0) {
  console.error(`\n${faults.join('\n')}`);
  process.exit(1);
}
console.log('\nThe console is in order.');
