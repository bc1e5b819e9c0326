/*
 * Where things stand in a YAML text: every key and item with its path and line, and what the
 * caret is in the middle of. It reads lines and indents and never fails, since text that is being
 * typed is rarely whole. What it means is decided by the server; this only finds the line.
 */
export type Path = (string | number)[];

/** One key or item. */
export interface OutlineEntry {
  path: Path;
  /** From 1. */
  line: number;
  /** From 1: where the key or the dash stands. */
  column: number;
}

interface Frame {
  kind: 'map' | 'seq';
  indent: number;
  path: Path;
  /** Current key of a map, current index of a sequence. */
  at: string | number;
  keys: string[];
}

const pathOf = (frame: Frame): Path => [...frame.path, frame.at];

/** A key at the beginning of a text: quoted or plain, with its colon. */
function keyAt(text: string): { key: string; length: number } | undefined {
  const quoted = /^(?:"((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)')\s*:(?=\s|$)/.exec(text);
  if (quoted) return { key: quoted[1] !== undefined ? quoted[1].replace(/\\(.)/g, '$1') : quoted[2]!.replace(/''/g, "'"), length: quoted[0].length };
  if (/^["'{}[\],#&*!|>%@`]/.test(text)) return undefined;
  const plain = /^([^#]*?(?:[^\s#]|\S#)??)\s*:(?=\s|$)/.exec(text);
  return plain && plain[1] !== '' ? { key: plain[1]!, length: plain[0].length } : undefined;
}

class Walker {
  readonly entries: OutlineEntry[] = [];
  frames: Frame[] = [];
  private scalarIndent = -1; // inside of a block scalar: lines deeper than this belong to it
  private quote = ''; // inside of a quoted text of several lines
  private flow: Flow | undefined; // inside of a flow collection of several lines

  /** Reads one line; `stop` leaves the last part of it to the caller and returns where that begins. */
  read(text: string, line: number, stop = false): { column: number; rest: string } | undefined {
    if (this.flow) {
      if (!this.flow.read(text, line, 0)) return undefined;
      this.flow = undefined;
      return undefined;
    }
    if (this.quote) {
      if (closesQuote(text, this.quote)) this.quote = '';
      return undefined;
    }
    const indent = /^ */.exec(text)![0].length;
    const blank = text.trim() === '';
    if (this.scalarIndent >= 0) {
      if (blank || indent > this.scalarIndent) return undefined;
      this.scalarIndent = -1;
    }
    if (!stop && (blank || text.trimStart().startsWith('#') || /^(---|\.\.\.)/.test(text))) return undefined;
    let column = indent;
    let rest = text.slice(column);
    while (/^-(\s|$)/.test(rest)) {
      while (this.top && this.top.indent > column) this.frames.pop();
      const top = this.top;
      if (top?.kind === 'seq' && top.indent === column) top.at = (top.at as number) + 1;
      else this.frames.push({ kind: 'seq', indent: column, path: top ? pathOf(top) : [], at: 0, keys: [] });
      this.entries.push({ path: pathOf(this.top!), line, column: column + 1 });
      const gap = /^-\s*/.exec(rest)![0].length;
      column += gap;
      rest = rest.slice(gap);
    }
    if (stop) return { column, rest };
    this.readValue(rest, line, column);
    return undefined;
  }

  /** What follows the dashes of a line: a key with its value, or a value. */
  private readValue(rest: string, line: number, column: number): void {
    const key = keyAt(rest);
    if (!key) {
      const top = this.top;
      this.readScalar(rest, line, column, top ? pathOf(top) : [], top?.indent ?? -1);
      return;
    }
    const frame = this.mapAt(column);
    frame.at = key.key;
    frame.keys.push(key.key);
    const path = pathOf(frame);
    this.entries.push({ path, line, column: column + 1 });
    const after = rest.slice(key.length);
    const gap = /^\s*/.exec(after)![0].length;
    this.readScalar(after.slice(gap), line, column + key.length + gap, path, column);
  }

  /** The map whose keys stand in this column. */
  mapAt(column: number): Frame {
    while (this.top && (this.top.indent > column || (this.top.kind === 'seq' && this.top.indent === column))) this.frames.pop();
    const top = this.top;
    if (top?.kind === 'map' && top.indent === column) return top;
    const frame: Frame = { kind: 'map', indent: column, path: top ? pathOf(top) : [], at: '', keys: [] };
    this.frames.push(frame);
    return frame;
  }

  private readScalar(text: string, line: number, column: number, path: Path, indent: number): void {
    const bare = text.replace(/^(?:[&!]\S+\s+)+/, '');
    if (/^[|>]/.test(bare)) this.scalarIndent = indent;
    else if (/^["']/.test(bare)) {
      if (!closesQuote(bare.slice(1), bare[0]!)) this.quote = bare[0]!;
    } else if (/^[{[]/.test(bare)) {
      const flow = new Flow(this.entries, path);
      if (!flow.read(' '.repeat(column + (text.length - bare.length)) + bare, line, column + (text.length - bare.length))) this.flow = flow;
    }
  }

  get top(): Frame | undefined {
    return this.frames[this.frames.length - 1];
  }
}

function closesQuote(text: string, quote: string): boolean {
  const bare = quote === '"' ? text.replace(/\\./g, '') : text.replace(/''/g, '');
  return bare.includes(quote);
}

/** A collection in braces or brackets. */
class Flow {
  readonly stack: { kind: 'map' | 'seq'; path: Path; at: string | number; inValue: boolean }[] = [];
  /** What was typed since the last sign, and where it began. */
  word = '';
  wordFrom = 0;
  private quote = '';

  constructor(private readonly entries: OutlineEntry[], private readonly path: Path) {}

  /** Reads on; true when the collection is closed. */
  read(text: string, line: number, from: number): boolean {
    for (let i = from; i < text.length; i++) {
      const sign = text[i]!;
      if (this.quote) {
        this.word += sign;
        if (sign === '\\' && this.quote === '"') this.word += text[++i] ?? '';
        else if (sign === this.quote) this.quote = '';
        continue;
      }
      const top = this.stack[this.stack.length - 1];
      if (sign === '{' || sign === '[') {
        const path = top ? [...top.path, top.at] : this.path;
        if (top?.kind === 'seq') this.entries.push({ path, line, column: i + 1 });
        this.stack.push({ kind: sign === '{' ? 'map' : 'seq', path, at: sign === '{' ? '' : 0, inValue: sign === '[' });
        this.start(i + 1);
      } else if (sign === '}' || sign === ']') {
        this.item(line);
        this.stack.pop();
        this.start(i + 1);
        if (this.stack.length === 0) return true;
      } else if (sign === ',' && top) {
        this.item(line);
        if (top.kind === 'seq') top.at = (top.at as number) + 1;
        else top.inValue = false;
        this.start(i + 1);
      } else if (sign === ':' && top?.kind === 'map' && !top.inValue && (/[\s,}]|$/.test(text[i + 1] ?? '') || /["']$/.test(this.word))) {
        top.at = unquote(this.word.trim());
        top.inValue = true;
        this.entries.push({ path: [...top.path, top.at], line, column: this.wordFrom + 1 });
        this.start(i + 1);
      } else if ((sign === '"' || sign === "'") && this.word.trim() === '') {
        this.quote = sign;
        this.wordFrom = i;
        this.word = sign;
      } else if (sign === '#' && /\s/.test(text[i - 1] ?? ' ')) break;
      else {
        if (this.word.trim() === '' && sign !== ' ') this.wordFrom = i;
        this.word += sign;
      }
    }
    return false;
  }

  private item(line: number): void {
    const top = this.stack[this.stack.length - 1];
    if (top?.kind === 'seq' && this.word.trim() !== '') this.entries.push({ path: [...top.path, top.at], line, column: this.wordFrom + 1 });
  }

  private start(at: number): void {
    this.word = '';
    this.wordFrom = at;
  }
}

const unquote = (text: string): string => (/^(["']).*\1$/.test(text) ? text.slice(1, -1) : text);

/** Every key and item of a text, in its order. */
export function outline(text: string): OutlineEntry[] {
  const walker = new Walker();
  text.split('\n').forEach((line, i) => walker.read(line.replace(/\r$/, ''), i + 1));
  return walker.entries;
}

/** A path as the server writes it, with every key after a dot: `do[2].conditions.{{a}} exists[0].emit`. */
export function plainPath(path: string): string {
  return path.replace(/\["((?:[^"\\]|\\.)*)"\]/g, (_, key: string) => `.${key.replace(/\\(.)/g, '$1')}`);
}

export function formatPath(path: Path): string {
  return path.map((part, i) => (typeof part === 'number' ? `[${part}]` : i === 0 ? part : `.${part}`)).join('');
}

/** The line of a path such as `do[3].repeat.do[0].fetch`; that of the nearest part above when it is not there; undefined when nothing fits. */
export function lineOfPath(text: string, path: string): number | undefined {
  const wanted = plainPath(path);
  let best: { length: number; line: number } | undefined;
  for (const entry of outline(text)) {
    const have = formatPath(entry.path);
    if (have === wanted) return entry.line;
    if (wanted.startsWith(have) && /^[.[]/.test(wanted.slice(have.length)) && have.length > (best?.length ?? 0)) best = { length: have.length, line: entry.line };
  }
  return best?.line;
}

/** The deepest path that stands at a line or above it. */
export function pathAtLine(text: string, line: number): string {
  let found = '';
  for (const entry of outline(text)) {
    if (entry.line > line) break;
    found = formatPath(entry.path);
  }
  return found;
}

/** What the caret is in the middle of. */
export interface CaretContext {
  /** `key`: a key of the map at `path` (or a plain item, when `item`). `value`: the value of `path`. */
  kind: 'key' | 'value';
  path: Path;
  /** The map begins as an item of a list: a scalar could stand here, too. */
  item: boolean;
  /** What was typed of it, and where that begins in the text. */
  typed: string;
  from: number;
  /** Keys that the map has already. */
  keys: string[];
  /** Column of the key; for the indent of what is inserted. */
  column: number;
  /** In braces or brackets: nothing of several lines is inserted. */
  flow: boolean;
}

export function contextAt(text: string, position: number): CaretContext | undefined {
  const lineStart = text.lastIndexOf('\n', position - 1) + 1;
  const lines = text.slice(0, lineStart).split('\n').slice(0, -1);
  const walker = new Walker();
  lines.forEach((line, i) => walker.read(line.replace(/\r$/, ''), i + 1));
  const before = text.slice(lineStart, position);
  if (before.trimStart().startsWith('#')) return undefined;
  const frames = walker.frames.map((frame) => ({ ...frame, keys: [...frame.keys] }));
  const left = walker.read(before, lines.length + 1, true);
  if (!left) return undefined;
  const { column, rest } = left;
  const dashed = column > /^ */.exec(before)![0].length;
  const key = keyAt(rest);
  if (key) {
    const frame = walker.mapAt(column);
    const path = [...frame.path, key.key];
    const after = rest.slice(key.length);
    const gap = /^\s*/.exec(after)![0].length;
    const value = after.slice(gap);
    const valueFrom = lineStart + column + key.length + gap;
    if (/^[{[]/.test(value)) return flowContext(value, valueFrom, path);
    return { kind: 'value', path, item: false, typed: value.replace(/^["']/, ''), from: valueFrom + (/^["']/.test(value) ? 1 : 0), keys: [], column, flow: false };
  }
  const item = dashed ? pathOf(walker.top!) : undefined;
  if (item && /^[{[]/.test(rest)) return flowContext(rest, lineStart + column, item);
  const typed = rest.replace(/^["']/, '');
  const from = lineStart + column + (rest.length - typed.length);
  if (item) return { kind: 'key', path: item, item: true, typed, from, keys: [], column, flow: false };
  // A key in the map of this column, or the first one below the key above.
  walker.frames = frames;
  const frame = walker.mapAt(column);
  const below = keysBelow(text, position, column);
  return { kind: 'key', path: frame.path, item: false, typed, from, keys: [...frame.keys, ...below], column, flow: false };
}

function flowContext(value: string, from: number, path: Path): CaretContext | undefined {
  const flow = new Flow([], path);
  if (flow.read(value, 1, 0)) return undefined;
  const top = flow.stack[flow.stack.length - 1];
  if (!top) return undefined;
  const typed = flow.word.trimStart();
  const at = from + value.length - typed.length;
  const shared = { typed: typed.replace(/^["']/, ''), from: at + (/^["']/.test(typed) ? 1 : 0), keys: [] as string[], column: 0, flow: true };
  if (top.kind === 'seq') return { kind: 'value', path: [...top.path, top.at], item: true, ...shared };
  return top.inValue ? { kind: 'value', path: [...top.path, top.at], item: false, ...shared } : { kind: 'key', path: top.path, item: false, ...shared };
}

/** Keys that follow in the same map. */
function keysBelow(text: string, position: number, column: number): string[] {
  const end = text.indexOf('\n', position);
  if (end < 0) return [];
  const keys: string[] = [];
  for (const line of text.slice(end + 1).split('\n')) {
    if (line.trim() === '') continue;
    const indent = /^ */.exec(line)![0].length;
    if (indent < column || (indent === column && line[indent] === '-')) break;
    if (indent > column) continue;
    const key = keyAt(line.slice(indent));
    if (key) keys.push(key.key);
  }
  return keys;
}
