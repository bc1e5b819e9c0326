import { isMap, isScalar, isSeq, LineCounter, parseDocument, type Document, type YAMLMap, type YAMLSeq } from 'yaml';
import { yamlStyle } from '../../lib/editor/yamledit.ts';

/*
 * The blocks of a page, read from its text and changed in it. The text is the document: its order and all
 * that the tree does not show stay as they are.
 */

export type Path = (string | number)[];

/** A block as it stands in a text. */
export interface TreeBlock {
  /** Where it stands in the document: `['blocks', 0, 'tabs', 1, 'content']`. */
  path: Path;
  /** Where the page shows it, as `data-block` has it: `0.1`. */
  position: string;
  kind: string;
  /** The first text that it shows, to tell it from others. */
  text: string;
  line: number;
  lastLine: number;
  children: TreeBlock[];
}

/** Keys below which a map with a slug is a block, as the renderer knows them. */
const nestedKeys = ['blocks', 'content', 'block'];
/** Keys of a block whose content is not shown. */
const hiddenKeys = ['if', 'repeat', 'template', 'hidden', 'automation', 'css', 'appInstance', 'styles', 'payload'];
const textKeys = ['title', 'text', 'label', 'name', 'caption', 'content', 'alt'];

function kindOf(node: unknown): string | undefined {
  if (!isMap(node)) return undefined;
  const slug = node.get('slug');
  return typeof slug === 'string' ? slug : undefined;
}

/** The blocks of a page or of an own block; undefined while the text is no YAML. */
export function readTree(text: string): TreeBlock[] | undefined {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  if (document.errors.length > 0) return undefined;
  const list = document.get('blocks', true);
  if (!isSeq(list)) return [];
  return list.items.flatMap((item, at) => (kindOf(item) === undefined ? [] : [readBlock(item as YAMLMap, ['blocks', at], String(at), lines)]));
}

function readBlock(node: YAMLMap, path: Path, position: string, lines: LineCounter): TreeBlock {
  const block: TreeBlock = { path, position, kind: kindOf(node)!, text: textOf(node), line: lines.linePos(node.range?.[0] ?? 0).line, lastLine: lines.linePos(Math.max(0, (node.range?.[1] ?? 1) - 1)).line, children: [] };
  for (const pair of node.items) {
    const key = String(isScalar(pair.key) ? pair.key.value : pair.key);
    if (!hiddenKeys.includes(key)) readNested(pair.value, key, [...path, key], block, lines);
  }
  return block;
}

function readNested(node: unknown, key: string, path: Path, into: TreeBlock, lines: LineCounter): void {
  if (isSeq(node)) node.items.forEach((item, at) => readNested(item, key, [...path, at], into, lines));
  else if (isMap(node)) {
    if (nestedKeys.includes(key) && kindOf(node) !== undefined) {
      into.children.push(readBlock(node, path, `${into.position}.${into.children.length}`, lines));
      return;
    }
    for (const pair of node.items) {
      const name = String(isScalar(pair.key) ? pair.key.value : pair.key);
      if (name !== 'payload') readNested(pair.value, name, [...path, name], into, lines);
    }
  }
}

function textOf(node: YAMLMap): string {
  for (const key of textKeys) {
    let value: unknown = node.get(key, true);
    if (isMap(value)) value = value.get('en', true) ?? value.items[0]?.value;
    if (isScalar(value) && (typeof value.value === 'string' || typeof value.value === 'number')) {
      const line = String(value.value).replace(/\s+/g, ' ').replace(/^[#\s*_-]+/, '').trim();
      if (line) return line.slice(0, 60);
    }
  }
  return '';
}

/** All blocks in the order of the tree. */
export function flatten(blocks: TreeBlock[], depth = 0): { block: TreeBlock; depth: number }[] {
  return blocks.flatMap((block) => [{ block, depth }, ...flatten(block.children, depth + 1)]);
}

/** The innermost block at a line. */
export function blockAtLine(blocks: TreeBlock[], line: number): TreeBlock | undefined {
  const found = blocks.find((block) => block.line <= line && line <= block.lastLine);
  return found && (blockAtLine(found.children, line) ?? found);
}

/** The block that the page shows at a position. What an own block consists of is that block; a copy is what it is a copy of. */
export function blockAtPosition(blocks: TreeBlock[], position: string): TreeBlock | undefined {
  const wanted = position.replace(/:\d+/g, '');
  const found = blocks.find((block) => wanted === block.position || wanted.startsWith(`${block.position}.`));
  return found && (blockAtPosition(found.children, wanted) ?? found);
}

/** A text after a change of its blocks, with the path of the block that changed; undefined when that cannot be. */
export interface Changed {
  text: string;
  path: Path;
}

const inList = (path: Path): boolean => typeof path[path.length - 1] === 'number';

function listOf(document: Document, path: Path): YAMLSeq | undefined {
  const list = document.getIn(path, true);
  return isSeq(list) ? list : undefined;
}

/** The list at a path; made when there is none. */
function openList(document: Document, path: Path): YAMLSeq {
  const list = listOf(document, path);
  if (list) {
    list.flow = list.items.length > 0 ? list.flow : false;
    return list;
  }
  document.setIn(path, document.createNode([]));
  const made = listOf(document, path)!;
  made.flow = false;
  return made;
}

function change(text: string, work: (document: Document) => Path | undefined): Changed | undefined {
  const document = parseDocument(text);
  if (document.errors.length > 0) return undefined;
  const path = work(document);
  return path && { text: document.toString(yamlStyle), path };
}

/** Inserts a block, given as YAML, into a list of blocks. */
export function insertBlock(text: string, list: Path, at: number, block: string): Changed | undefined {
  return change(text, (document) => {
    const made = parseDocument(block).contents;
    const { items } = openList(document, list);
    const index = Math.min(at, items.length);
    items.splice(index, 0, made);
    return [...list, index];
  });
}

/** Where a block goes that is inserted after another, or at the end of the page. */
export function placeAfter(path: Path | undefined, count: number): { list: Path; at: number } {
  if (path && inList(path)) return { list: path.slice(0, -1), at: (path[path.length - 1] as number) + 1 };
  return { list: ['blocks'], at: count };
}

export function removeBlock(text: string, path: Path): Changed | undefined {
  return change(text, (document) => {
    document.deleteIn(path);
    return path;
  });
}

export function duplicateBlock(text: string, path: Path): Changed | undefined {
  if (!inList(path)) return undefined;
  return change(text, (document) => {
    const list = listOf(document, path.slice(0, -1))!;
    const at = path[path.length - 1] as number;
    list.items.splice(at + 1, 0, (list.items[at] as YAMLMap).clone());
    return [...path.slice(0, -1), at + 1];
  });
}

/** Puts a block into a list of its own, which can have a class, a condition, a repetition. */
export function wrapBlock(text: string, path: Path): Changed | undefined {
  return change(text, (document) => {
    const inner = document.getIn(path, true);
    const outer = document.createNode({ slug: 'BlocksList', blocks: [] }) as YAMLMap;
    const list = outer.get('blocks') as YAMLSeq;
    list.flow = false;
    list.items.push(inner);
    document.setIn(path, outer);
    return path;
  });
}

export type Direction = 'up' | 'down' | 'in' | 'out';

/** Moves a block among its siblings, into the one before it if that takes blocks, or out of the block that it is in. */
export function moveBlock(text: string, tree: TreeBlock[], path: Path, direction: Direction, takesBlocks: (kind: string) => boolean = () => true): Changed | undefined {
  const at = path[path.length - 1];
  if (typeof at !== 'number') return undefined;
  const list = path.slice(0, -1);
  if (direction === 'up') return at === 0 ? undefined : moveTo(text, path, list, at - 1);
  if (direction === 'down') return change(text, (document) => (at + 1 < listOf(document, list)!.items.length ? list : undefined)) && moveTo(text, path, list, at + 2);
  const all = flatten(tree).map((one) => one.block);
  if (direction === 'in') {
    const before = all.find((one) => JSON.stringify(one.path) === JSON.stringify([...list, at - 1]));
    return before && takesBlocks(before.kind) ? moveTo(text, path, [...before.path, 'blocks'], Infinity) : undefined;
  }
  const parent = all.filter((one) => isInside(path, one.path)).pop();
  if (!parent || !inList(parent.path)) return undefined;
  return moveTo(text, path, parent.path.slice(0, -1), (parent.path[parent.path.length - 1] as number) + 1);
}

/** Whether what stands at a path is inside of what stands at another. */
export function isInside(path: Path, outer: Path): boolean {
  return path.length > outer.length && outer.every((part, at) => part === path[at]);
}

/** Moves a block in front of the entry `to` of a list. */
export function moveTo(text: string, path: Path, list: Path, to: number): Changed | undefined {
  // A block cannot be moved into itself.
  if (JSON.stringify(list.slice(0, path.length)) === JSON.stringify(path)) return undefined;
  return change(text, (document) => {
    const from = listOf(document, path.slice(0, -1));
    const at = path[path.length - 1];
    if (!from || typeof at !== 'number') return undefined;
    const target = openList(document, list);
    const index = Math.min(to, target.items.length);
    const node = from.items[at];
    target.items.splice(index, 0, node);
    const old = target === from && index <= at ? at + 1 : at;
    from.items.splice(old, 1);
    // A list that was made for it goes with it.
    if (from.items.length === 0 && path.length > 2 && path[path.length - 2] === 'blocks') document.deleteIn(path.slice(0, -1));
    const landed = target === from && index > at ? index - 1 : index;
    // Where it was taken from comes before where it went: what is behind it moved up.
    return [...list.map((part, depth) => (typeof part === 'number' && depth === path.length - 1 && sameStart(list, path, depth) && part > at ? part - 1 : part)), landed];
  });
}

const sameStart = (a: Path, b: Path, length: number): boolean => a.slice(0, length).every((part, at) => part === b[at]);

/** An own block as a page that shows it: its configuration where a page gives none. */
export function pageOfBlock(text: string, name: string): string {
  const document = parseDocument(text);
  const page = parseDocument(`name: preview\nblocks: []\n`);
  const shown = page.createNode({}) as YAMLMap;
  const parent = document.get('block');
  shown.set('slug', typeof parent === 'string' && parent !== name ? parent : 'BlocksList');
  const config = document.get('config', true);
  if (isMap(config)) for (const pair of config.items) shown.items.push(pair);
  for (const key of ['automation', 'blocks', 'css']) {
    const given = document.get(key, true);
    if (given !== undefined && !shown.has(key)) shown.set(key, given);
  }
  openList(page, ['blocks']).items.push(shown);
  return page.toString(yamlStyle);
}

/** The languages of the texts of a document: keys of maps that have nothing but languages. */
export function languagesIn(value: unknown, found = new Set<string>()): string[] {
  if (Array.isArray(value)) value.forEach((one) => languagesIn(one, found));
  else if (value !== null && typeof value === 'object') {
    const keys = Object.keys(value);
    if (keys.length > 0 && keys.every((key) => /^[a-z]{2}(-[A-Z]{2})?$/.test(key)) && Object.values(value).every((one) => typeof one === 'string')) keys.forEach((key) => found.add(key));
    else Object.values(value).forEach((one) => languagesIn(one, found));
  }
  return [...found].sort();
}
