import { Document, isMap, isSeq, parseDocument, type YAMLMap } from 'yaml';

/* Changes of YAML text that keep its order, for forms: the text is the document, a form is a view of it. */

/** As the server writes documents, so that a change of one field is one in the text, too. */
export const yamlStyle = { lineWidth: 0, singleQuote: true } as const;

type Path = (string | number)[];

/** What a text says, to be shown; undefined while it is no YAML. */
export function yamlValue(text: string): unknown {
  const document = parseDocument(text);
  return document.errors.length > 0 ? undefined : (document.toJS() as unknown);
}

/** The text after what stands at `path` changed from `before` to `after`: only what differs is written. */
export function changeYaml(text: string, path: Path, before: unknown, after: unknown): string {
  const document = parseDocument(text);
  apply(document, path, before, after);
  return document.toString(yamlStyle);
}

const isObject = (value: unknown): value is Record<string, unknown> => value !== null && typeof value === 'object' && !Array.isArray(value);

function apply(document: Document, path: Path, before: unknown, after: unknown): void {
  if (after === undefined) {
    if (document.hasIn(path)) document.deleteIn(path);
    return;
  }
  if (!isObject(before) || !isObject(after) || !isMap(path.length > 0 ? document.getIn(path) : document.contents)) {
    if (JSON.stringify(before) === JSON.stringify(after) && document.hasIn(path)) return;
    openMaps(document, path);
    document.setIn(path, after);
    return;
  }
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (JSON.stringify(before[name]) !== JSON.stringify(after[name])) apply(document, [...path, name], before[name], after[name]);
  }
}

/** `{}` on the way gets lines of its own once something is in it. */
function openMaps(document: Document, path: Path): void {
  for (let depth = 0; depth < path.length; depth++) {
    const map = depth === 0 ? document.contents : document.getIn(path.slice(0, depth));
    if ((isMap(map) || isSeq(map)) && map.items.length === 0) (map as YAMLMap).flow = false;
  }
}

/** The text, or the stored one when both say the same: what is as it was is not unsaved. */
export function orStored(text: string, stored: string): string {
  return JSON.stringify(yamlValue(text)) === JSON.stringify(yamlValue(stored)) ? stored : text;
}

/** The text after an entry of the list at `path` moved to another place. */
export function moveInYaml(text: string, path: Path, from: number, to: number): string {
  const document = parseDocument(text);
  const list = document.getIn(path);
  if (isSeq(list)) list.items.splice(to, 0, ...list.items.splice(from, 1));
  return document.toString(yamlStyle);
}

/** The text of one top-level part of a document, as a document of its own; undefined when there is none. */
export function yamlOf(text: string, name: string): string | undefined {
  const part = parseDocument(text).get(name, true);
  return part === undefined ? undefined : new Document(part).toString(yamlStyle);
}

/** The text of one top-level part of a document, to be sent as a change of it. */
export function yamlPart(text: string, name: string): string {
  const whole = parseDocument(text);
  const part = new Document({});
  part.set(name, whole.get(name, true) ?? part.createNode(null));
  return part.toString(yamlStyle);
}

/**
 * The text with null for the top-level parts that it has no more: a change removes what is null and
 * leaves what is not named. The lines of the text stay where they are.
 */
export function withRemovals(text: string, before: string): string {
  const document = parseDocument(text);
  const had = yamlValue(before);
  if (document.errors.length > 0 || !isObject(had)) return text;
  const removed = Object.keys(had).filter((name) => !document.has(name));
  if (removed.length === 0) return text;
  if (document.contents === null || (isMap(document.contents) && !document.contents.flow)) return `${text.trimEnd()}\n${removed.map((name) => `${name}: null\n`).join('')}`;
  for (const name of removed) document.set(name, document.createNode(null));
  return document.toString(yamlStyle);
}

/** The top-level parts of a text that are not as before, alone: a change of them leaves all others as they are. */
export function changedParts(text: string, before: string): string {
  const document = parseDocument(text);
  const [now, had] = [document.toJS() as unknown, yamlValue(before)];
  if (document.errors.length > 0 || !isObject(now) || !isObject(had)) return text;
  const part = new Document({});
  for (const name of new Set([...Object.keys(now), ...Object.keys(had)])) {
    if (JSON.stringify(now[name]) !== JSON.stringify(had[name])) part.set(name, document.get(name, true) ?? part.createNode(null));
  }
  return part.toString(yamlStyle);
}
