import type { EditorHelp, HoverText, Proposal } from '../../lib/editor/help.ts';
import { describe, infoOf, keyProposals, shapesAt, valueProposals, type JsonSchema } from '../../lib/editor/schemahelp.ts';
import { contextAt, outline, type CaretContext, type Path } from '../../lib/editor/yamloutline.ts';

/** The schema of automations, with the functions of expressions and the modules of `run`. */
export type AutomationSchema = JsonSchema & {
  'x-functions'?: { name: string; signature: string; description: string }[];
  'x-modules'?: Record<string, string[]>;
};

/** Something that an instruction can call. */
export interface Callable {
  /** As it is called: a slug, or `Instance.slug`. */
  slug: string;
  name: string;
  description: string;
  arguments: Record<string, { type?: unknown; description?: unknown; required?: unknown }>;
}

/** What exists in the workspace, for completion and hover. */
export interface Known {
  schema: AutomationSchema | undefined;
  callables: Callable[];
  /** Types of events with who emits or hears them. */
  events: { type: string; by: string }[];
  secrets: { name: string; description: string }[];
  config: { name: string; description: string }[];
  /** Words in the language of the person. */
  words: { calls: (name: string) => string; event: (by: string) => string; argument: string; setAbove: string; context: string; required: string };
}

/** Optional parameters that most people want next to the required ones. */
const usual: Record<string, string[]> = { fetch: ['output'], emit: ['payload'], wait: ['oneOf', 'timeout', 'output'], break: ['scope'], run: ['parameters', 'output'], rateLimit: ['output'], repeat: ['on'], try: ['catch'], auth: ['output'] };

const roots: [path: string, ...keys: string[]][] = [
  ['run', 'depth', 'correlationId', 'executionId', 'attempt', 'automationSlug', 'date', 'trigger', 'ip', 'permissions', 'scopes'],
  ['session', 'id'],
  ['user', 'id', 'email', 'authData', 'role'],
  ['global', 'workspaceId', 'workspaceName', 'apiUrl', 'studioUrl', 'pagesUrl', 'endpoints'],
  ['socket'],
  ['config'],
  ['secret'],
  ['$workspace'],
];

const isInstruction = (path: Path): boolean => typeof path[path.length - 1] === 'number' && path[0] === 'do';

export function automationHelp(known: () => Known): EditorHelp {
  return {
    complete: (text, position, explicit) => {
      const now = known();
      const line = text.slice(text.lastIndexOf('\n', position - 1) + 1, position);
      const template = templateAt(line);
      if (template?.kind === 'path') return { from: position - template.typed.length, proposals: variables(text, position, now), word: /^[\w$.\-[\]]*$/ };
      if (template?.kind === 'expression' && (template.typed || explicit)) {
        return { from: position - template.typed.length, proposals: functions(now), word: /^\w*$/ };
      }
      if (template) return undefined;
      const context = contextAt(text, position);
      if (!context || !now.schema) return undefined;
      if (context.kind === 'key') {
        if (!explicit && context.typed === '' && !context.item) return undefined;
        return { from: context.from, proposals: keys(now.schema, context, now), word: /^[\w$./ -]*$/ };
      }
      const proposals = values(now.schema, context, now, text);
      return proposals.length > 0 && (explicit || context.typed !== '' || proposals.length < 40) ? { from: context.from, proposals, word: /^[\w$./ *-]*$/ } : undefined;
    },
    hover: (text, position) => hoverAt(text, position, known()),
  };
}

/** Whether the caret is in `{{…` or `{%…` of its line. */
export function templateAt(before: string): { kind: 'path' | 'expression'; typed: string } | undefined {
  const path = before.lastIndexOf('{{');
  if (path >= 0 && !before.slice(path).includes('}}')) return { kind: 'path', typed: /[\w$.\-[\]]*$/.exec(before.slice(path + 2))![0] };
  const block = before.lastIndexOf('{%');
  if (block >= 0 && !before.slice(block).includes('%}')) return { kind: 'expression', typed: /\w*$/.exec(before.slice(block + 2))![0] };
  return undefined;
}

function keys(schema: AutomationSchema, context: CaretContext, known: Known): Proposal[] {
  if (!isInstruction(context.path)) {
    if (typeof context.path[context.path.length - 1] === 'number') return values(schema, { ...context, kind: 'value' }, known, '');
    const called = known.callables.find((one) => isInstruction(context.path.slice(0, -1)) && one.slug === context.path[context.path.length - 1]);
    const own = called ? argumentProposals(called, context, known) : [];
    return [...own, ...keyProposals(schema, context, (key) => usual[key] ?? [])];
  }
  const instructions = keyProposals(schema, context, (key) => usual[key] ?? []).map((proposal) => ({ ...proposal, ...(special[proposal.label] && !context.flow ? { insert: special[proposal.label] } : {}), detail: undefined, boost: 10 }));
  return [...instructions, ...known.callables.map((callable) => callProposal(callable, known, context.flow))];
}

/** Skeletons that a schema cannot say. */
const special: Record<string, string> = {
  conditions: "conditions:\n  '{{${variable}}} exists':\n    - ${}\n  default: []",
  comment: 'comment: ${}',
  wait: 'wait:\n  oneOf:\n    - event: ${event}\n  timeout: ${60}\n  output: ${answer}',
  all: 'all:\n  - ${}',
  emit: 'emit:\n  event: ${event}\n  payload:\n    ${}',
  run: 'run:\n  module: ${}\n  function: ${}\n  parameters:\n    ${}\n  output: ${}',
};

function callProposal(callable: Callable, known: Known, flow: boolean): Proposal {
  const required = Object.entries(callable.arguments).filter(([, field]) => field.required === true);
  const name = /^[\w.-]+( [\w.-]+)*$/.test(callable.slug) ? callable.slug : JSON.stringify(callable.slug);
  const lines = [...required.map(([argument]) => `\n  ${argument}: \${}`), '\n  output: ${result}'].join('');
  return {
    label: callable.slug,
    detail: known.words.calls(callable.name),
    info: [callable.description, signature(callable)].filter(Boolean).join('\n\n') || undefined,
    insert: flow ? `${name}: \${}` : `${name}:${lines}`,
  };
}

const signature = (callable: Callable): string =>
  Object.entries(callable.arguments)
    .map(([name, field]) => `${name}${field.required === true ? ' *' : ''}: ${Array.isArray(field.type) ? field.type.join(', ') : String(field.type ?? 'any')}${typeof field.description === 'string' ? ` · ${field.description}` : ''}`)
    .join('\n');

function argumentProposals(callable: Callable, context: CaretContext, known: Known): Proposal[] {
  return Object.entries(callable.arguments)
    .filter(([name]) => !context.keys.includes(name))
    .map(([name, field]) => ({
      label: name,
      detail: field.required === true ? '*' : undefined,
      info: [known.words.argument, typeof field.description === 'string' ? field.description : ''].filter(Boolean).join('\n'),
      insert: `${name}: \${}`,
      boost: field.required === true ? 30 : 15,
    }));
}

function values(schema: AutomationSchema, context: CaretContext, known: Known, text: string): Proposal[] {
  const [last, parent] = [context.path[context.path.length - 1], context.path[context.path.length - 2]];
  const isEvent = (last === 'event' && (parent === 'emit' || typeof parent === 'number')) || (parent === 'events' && context.path[0] === 'when');
  if (isEvent) return known.events.map(({ type, by }) => ({ label: type, detail: known.words.event(by) }));
  if (last === 'workflow') return known.callables.map((one) => ({ label: one.slug, detail: one.name, info: one.description || undefined }));
  if (parent === 'run' && last === 'module') return Object.keys(schema['x-modules'] ?? {}).map((label) => ({ label }));
  if (parent === 'run' && last === 'function') {
    const module = moduleAbove(text, context.from);
    const modules = Object.entries(schema['x-modules'] ?? {}).filter(([name]) => module === undefined || name === module);
    return modules.flatMap(([name, list]) => list.map((label) => ({ label, detail: name })));
  }
  return valueProposals(schema, context.path);
}

/** The module of the `run` that the caret is in. */
function moduleAbove(text: string, position: number): string | undefined {
  const near = text.slice(Math.max(0, position - 300), position);
  const found = [...near.matchAll(/\bmodule:\s*['"]?(\w+)/g)].pop() ?? /^[^\n]*\n?[^\n]*\bmodule:\s*['"]?(\w+)/.exec(text.slice(position, position + 200));
  return found?.[1];
}

/** Variables that exist where the caret stands: arguments, what triggers bring, what is set above, contexts. */
export function variables(text: string, position: number, known: Known): Proposal[] {
  const seen = new Map<string, Proposal>();
  const add = (label: string, detail: string, info?: string, boost = 0): void => {
    if (!seen.has(label)) seen.set(label, { label, detail, info, boost });
  };
  for (const name of setAbove(text.slice(0, position))) add(name, known.words.setAbove, undefined, 30);
  const entries = outline(text);
  for (const { path } of entries) {
    if (path[0] === 'arguments' && path.length === 2) add(String(path[1]), known.words.argument, undefined, 25);
    if (path[0] === 'when' && path[1] === 'endpoint') for (const name of ['body', 'query', 'headers', 'method', 'pathParams', 'rawBody']) add(name, 'endpoint', undefined, 10);
    if (path[0] === 'when' && path[1] === 'events') for (const name of ['payload', 'type', 'source', 'id', 'createdAt']) add(name, 'event', undefined, 10);
    if (path.includes('repeat')) for (const name of ['item', '$index']) add(name, 'repeat', undefined, 5);
    if (path.includes('catch')) add('$error', 'try', undefined, 5);
  }
  for (const { name, description } of known.secrets) add(`secret.${name}`, known.words.context, description || undefined, 5);
  for (const { name, description } of known.config) add(`config.${name}`, known.words.context, description || undefined, 5);
  for (const [root, ...names] of roots) {
    add(root, known.words.context);
    for (const name of names) add(`${root}.${name}`, known.words.context, undefined, -5);
  }
  return [...seen.values()];
}

/** Names that `set` and `output` give in a text, first ones first. */
export function setAbove(text: string): string[] {
  const names = new Set<string>();
  let afterSet = false;
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue;
    const opens = /(^|[\s{-])set:\s*(\{|$)/.test(line);
    const name = /(?:^|[\s{,])name:\s*['"]?([A-Za-z_$][\w$.-]*)/.exec(line)?.[1];
    if (name && (opens || afterSet)) names.add(name);
    const output = /(?:^\s+|[\s{,])output:\s*['"]?([A-Za-z_$][\w$.-]*)/.exec(line)?.[1];
    if (output) names.add(output);
    afterSet = opens || (afterSet && !/^\s*-/.test(line) && !name);
  }
  return [...names];
}

function functions(known: Known): Proposal[] {
  return (known.schema?.['x-functions'] ?? []).map((one) => ({ label: one.name, detail: one.signature.slice(one.name.length), info: one.description, insert: `${one.name}(\${})` }));
}

function hoverAt(text: string, position: number, known: Known): HoverText | undefined {
  const start = text.lastIndexOf('\n', position - 1) + 1;
  const end = text.indexOf('\n', position) < 0 ? text.length : text.indexOf('\n', position);
  const line = text.slice(start, end);
  const column = position - start;
  const word = wordAt(line, column);
  if (!word) return undefined;
  const range = { from: start + word.from, to: start + word.to };
  const inTemplate = templateAt(line.slice(0, word.from + 1));
  if (inTemplate) {
    const called = known.schema?.['x-functions']?.find((one) => one.name.toLowerCase() === word.text.toLowerCase());
    if (inTemplate.kind === 'expression' && called) return { ...range, title: called.signature, text: called.description };
    const path = /[\w$.-]*$/.exec(line.slice(0, word.to))![0];
    const secret = known.secrets.find((one) => path.startsWith('secret.') && one.name === path.split('.')[1]);
    const config = known.config.find((one) => path.startsWith('config.') && one.name === path.split('.')[1]);
    const variable = variables(text, position, known).find((one) => one.label === path || path.startsWith(`${one.label}.`));
    const text2 = secret?.description || config?.description || variable?.detail;
    return text2 ? { ...range, title: path, text: text2 } : undefined;
  }
  const at = outline(text).find((entry) => entry.line === text.slice(0, start).split('\n').length && entry.column - 1 <= word.from && entry.column - 1 + String(entry.path[entry.path.length - 1]).length + 2 >= word.to && entry.path[entry.path.length - 1] === keyText(line, entry.column - 1));
  if (!at || !known.schema) return undefined;
  const name = at.path[at.path.length - 1];
  const callable = isInstruction(at.path.slice(0, -1)) ? known.callables.find((one) => one.slug === name) : undefined;
  if (callable) return { ...range, title: callable.name || callable.slug, text: callable.description, more: signature(callable) };
  const described = describe(known.schema, at.path);
  const info = infoOf(described?.schema);
  if (!described || !info) return undefined;
  const parameters = isInstruction(at.path.slice(0, -1)) ? shapesAt(known.schema, at.path).flatMap((shape) => Object.keys(shape.properties ?? {}).map((key) => (shape.required?.includes(key) ? `${key} *` : key))) : [];
  return { ...range, title: String(name) + (described.required ? ' *' : ''), text: info, more: [...new Set(parameters)].join(', ') || undefined };
}

/** The key that begins in a column, as the outline writes it. */
function keyText(line: string, column: number): string | undefined {
  const rest = line.slice(column);
  const quoted = /^(["'])(.*?)\1\s*:/.exec(rest);
  return quoted ? quoted[2] : /^(.*?)\s*:(?=\s|$)/.exec(rest)?.[1];
}

function wordAt(line: string, column: number): { from: number; to: number; text: string } | undefined {
  for (const match of line.matchAll(/[\w$-]+/g)) {
    if (match.index <= column && match.index + match[0].length >= column) return { from: match.index, to: match.index + match[0].length, text: match[0] };
  }
  return undefined;
}
