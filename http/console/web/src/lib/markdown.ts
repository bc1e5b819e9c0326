/*
 * Markdown that a model wrote, as a tree that Markdown.svelte draws with elements of its own: nothing in it can become other markup,
 * links lead to http and https only, and pictures are links, so that nothing is loaded before somebody chooses it.
 */

export type Inline =
  | { kind: 'text'; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'strong' | 'em' | 'del'; children: Inline[] }
  | { kind: 'link'; href: string; children: Inline[] }
  | { kind: 'cite'; n: number }
  | { kind: 'break' };

export type Block =
  | { kind: 'paragraph' | 'heading'; children: Inline[] }
  | { kind: 'code'; text: string }
  | { kind: 'quote'; blocks: Block[] }
  | { kind: 'list'; start: number | undefined; items: Block[][] }
  | { kind: 'table'; head: Inline[][]; rows: Inline[][][] }
  | { kind: 'line' };

/** How deep quotes, lists and emphasis go: what is deeper stays text. */
const deepest = 12;
const item = /^( {0,3})([-*+]|\d{1,9}[.)])( +|$)/;
const special = /^ {0,3}(#{1,6} |>|```|~~~)|^ {0,3}([-*_])( *\2){2,} *$/;

/** The blocks of a text; `cites` says which numbers in brackets are sources. */
export function parseMarkdown(text: string, cites: (n: number) => boolean = () => false): Block[] {
  return blocksOf(text.replace(/\r\n?/g, '\n').replace(/\t/g, '    ').split('\n'), cites, 0);
}

function blocksOf(lines: string[], cites: (n: number) => boolean, depth: number): Block[] {
  const blocks: Block[] = [];
  const inline = (words: string): Inline[] => inlineOf(words, cites, 0);
  for (let at = 0; at < lines.length; ) {
    const line = lines[at]!;
    if (line.trim() === '') {
      at++;
      continue;
    }
    const fence = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence) {
      let end = at + 1;
      while (end < lines.length && !(lines[end]!.trim().startsWith(fence) && /^[`~]+$/.test(lines[end]!.trim()))) end++;
      blocks.push({ kind: 'code', text: lines.slice(at + 1, end).join('\n') });
      at = end + 1;
      continue;
    }
    const heading = /^ {0,3}#{1,6} +(.*?)(?: +#+)? *$/.exec(line);
    if (heading) {
      blocks.push({ kind: 'heading', children: inline(heading[1]!) });
      at++;
      continue;
    }
    if (/^ {0,3}([-*_])( *\1){2,} *$/.test(line)) {
      blocks.push({ kind: 'line' });
      at++;
      continue;
    }
    if (/^ {0,3}>/.test(line) && depth < deepest) {
      let end = at;
      while (end < lines.length && /^ {0,3}>/.test(lines[end]!)) end++;
      blocks.push({ kind: 'quote', blocks: blocksOf(lines.slice(at, end).map((one) => one.replace(/^ {0,3}> ?/, '')), cites, depth + 1) });
      at = end;
      continue;
    }
    const first = item.exec(line);
    if (first && depth < deepest) {
      const ordered = /\d/.test(first[2]!);
      const items: string[][] = [];
      for (; at < lines.length; at++) {
        const found = item.exec(lines[at]!);
        const indent = /^ */.exec(lines[at]!)![0].length;
        if (found && found[1]!.length <= first[1]!.length && /\d/.test(found[2]!) === ordered) items.push([lines[at]!.slice(found[0].length)]);
        else if (lines[at]!.trim() === '') {
          // An empty line ends the list unless more of it follows.
          const next = lines.slice(at + 1).find((one) => one.trim() !== '');
          if (next === undefined || !(/^ {2,}/.test(next) || (item.test(next) && /\d/.test(item.exec(next)![2]!) === ordered))) break;
          items[items.length - 1]!.push('');
        } else if (indent >= 2) items[items.length - 1]!.push(lines[at]!.slice(Math.min(indent, first[0].length)));
        else if (found || special.test(lines[at]!) || lines[at - 1]!.trim() === '') break;
        else items[items.length - 1]!.push(lines[at]!);
      }
      blocks.push({ kind: 'list', start: ordered ? Number.parseInt(first[2]!, 10) : undefined, items: items.map((one) => blocksOf(one, cites, depth + 1)) });
      continue;
    }
    if (line.includes('|') && /^ *\|?[ :|-]*-[ :|-]*$/.test(lines[at + 1] ?? '') && lines[at + 1]!.includes('|')) {
      const head = cellsOf(line).map(inline);
      const rows: Inline[][][] = [];
      for (at += 2; at < lines.length && lines[at]!.includes('|'); at++) rows.push(head.map((_, column) => inline(cellsOf(lines[at]!)[column] ?? '')));
      blocks.push({ kind: 'table', head, rows });
      continue;
    }
    let end = at + 1;
    while (end < lines.length && lines[end]!.trim() !== '' && !special.test(lines[end]!) && !item.test(lines[end]!)) end++;
    blocks.push({ kind: 'paragraph', children: inline(lines.slice(at, end).map((one, i, all) => (i < all.length - 1 && / {2,}$|\\$/.test(one) ? `${one.replace(/ +$|\\$/, '')}\u2028` : one.trim())).join('\n')) });
    at = end;
  }
  return blocks;
}

const cellsOf = (line: string): string[] => line.trim().replace(/^\||\|$/g, '').split(/(?<!\\)\|/).map((cell) => cell.trim().replace(/\\\|/g, '|'));

/** An address that may be opened: http or https, without credentials in it. */
export function safeHref(address: string): string | undefined {
  try {
    const url = new URL(address);
    return /^https?:$/.test(url.protocol) && !url.username && !url.password ? url.href : undefined;
  } catch {
    return undefined;
  }
}

// What is between two signs has at most 1000 characters, so that hostile texts take no longer than others.
const patterns: [RegExp, (found: RegExpExecArray, inner: (text: string) => Inline[], cites: (n: number) => boolean) => Inline[] | undefined][] = [
  [/\\([!-/:-@[-`{-~])/y, ([, sign]) => [{ kind: 'text', text: sign! }]],
  [/(`+)([^`](?:[^]{0,1000}?[^`])?)\1(?!`)/y, ([, , code]) => [{ kind: 'code', text: code!.replace(/\n/g, ' ') }]],
  [/\[(\d{1,3}(?:, ?\d{1,3})*)\](?!\()/y, ([, list], _, cites) => {
    const numbers = list!.split(/, ?/).map(Number);
    return numbers.every(cites) ? numbers.map((n) => ({ kind: 'cite', n })) : undefined;
  }],
  [/!?\[((?:[^\]\\]|\\.){0,1000})\]\(<?([^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*)>?(?: +"[^"]*")?\)/y, ([, words, address], inner) => {
    const href = safeHref(address!);
    // What leads nowhere that may be opened stays text.
    return href ? [{ kind: 'link', href, children: words ? inner(words) : [{ kind: 'text', text: href }] }] : inner(words || address!);
  }],
  [/<(https?:\/\/[^\s<>]+)>/y, ([, address]) => linkTo(address!)],
  [/https?:\/\/[^\s<>()[\]"'`]*[^\s<>()[\]"'`.,;:!?*_]/y, ([address]) => linkTo(address)],
  [/\*\*(?=\S)([^]{0,1000}?\S)\*\*(?!\*)|__(?=\S)([^]{0,1000}?\S)__(?!_)/y, ([, a, b], inner) => [{ kind: 'strong', children: inner((a ?? b)!) }]],
  [/~~(?=\S)([^]{0,1000}?\S)~~/y, ([, a], inner) => [{ kind: 'del', children: inner(a!) }]],
  [/\*(?=[^\s*])([^]{0,1000}?[^\s*])\*(?!\*)|(?<![A-Za-z0-9])_(?=[^\s_])([^]{0,1000}?[^\s_])_(?![A-Za-z0-9])/y, ([, a, b], inner) => [{ kind: 'em', children: inner((a ?? b)!) }]],
  [/\u2028\n?/y, () => [{ kind: 'break' }]],
];

function linkTo(address: string): Inline[] | undefined {
  const href = safeHref(address);
  return href ? [{ kind: 'link', href, children: [{ kind: 'text', text: address }] }] : undefined;
}

function inlineOf(text: string, cites: (n: number) => boolean, depth: number): Inline[] {
  const parts: Inline[] = [];
  let plain = '';
  const flush = (): void => {
    if (plain) parts.push({ kind: 'text', text: plain });
    plain = '';
  };
  const inner = (words: string): Inline[] => (depth < deepest ? inlineOf(words, cites, depth + 1) : [{ kind: 'text', text: words }]);
  for (let at = 0; at < text.length; ) {
    let taken = 0;
    if (/[\\`[!<h*_~\u2028]/.test(text[at]!)) {
      for (const [pattern, make] of patterns) {
        pattern.lastIndex = at;
        const found = pattern.exec(text);
        const made = found && make(found, inner, cites);
        if (!made) continue;
        flush();
        parts.push(...made);
        taken = found[0].length;
        break;
      }
    }
    if (taken === 0) plain += text[at];
    at += taken || 1;
  }
  flush();
  return parts;
}
