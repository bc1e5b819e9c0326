import { parseDocument } from 'yaml';
import { formatPath, type Path } from '../../lib/editor/yamloutline.ts';
import { matchesType } from '../../lib/eventtype.ts';

/*
 * The graph of an automation: its instructions as nodes and what follows what as edges, made from its text.
 * The text is read with its maps as they stand: an object of JavaScript would move number-like conditions to the front.
 */

export type NodeKind =
  /** What starts it. `start`: nothing but calls. */
  | 'endpoint' | 'event' | 'schedule' | 'start'
  /** An instruction; one that decides or repeats; one that calls an automation. */
  | 'instruction' | 'control' | 'call'
  /** A branch of `conditions`, `catch` and `finally`. */
  | 'branch'
  /** Another document: one that emits what starts it, or that listens to what it emits. */
  | 'automation' | 'page'
  | 'end';

export interface GraphNode {
  id: string;
  kind: NodeKind;
  /** The instruction, the condition, the event type or the slug; empty for `start` and `end`. */
  title: string;
  detail: string;
  /** Where it stands in the document; empty for other documents. */
  path: string;
  /** Slug of the automation that it calls, or of the document that it is. */
  target?: string;
  /** The list of instructions that it stands in, and its place there: those before it run first. None for a branch of `all`. */
  list?: string;
  place?: number;
  /** Types of the events that it emits or waits for. */
  events?: string[];
  /** More documents than are drawn, instead of one. */
  more?: number;
}

export interface GraphEdge {
  from: string;
  to: string;
  /** `flow`: comes next. `back`: the next iteration. `error`: when it fails. `event`: by an event. */
  kind: 'flow' | 'back' | 'error' | 'event';
  /** Words are those of the messages of the screen. */
  label?: 'each' | 'then' | 'otherwise' | 'failed' | 'ends';
}

export interface AutomationGraph {
  nodes: GraphNode[];
  edges: GraphEdge[];
}

/** A document that emits or listens to events. */
export interface EventUser {
  kind: 'automation' | 'page';
  slug: string;
  emit: string[];
  listen: string[];
}

/** Both may be patterns: whether some event fits both. */
const meet = (a: string, b: string): boolean => matchesType(a, b) || matchesType(b, a);

/** Documents that are drawn at one event; of more their number is said. */
const mostNeighbours = 5;

const isMap = (value: unknown): value is Map<unknown, unknown> => value instanceof Map;
const field = (value: unknown, name: string): unknown => (isMap(value) ? value.get(name) : undefined);
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** A value on one line. */
function short(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'object') return String(value).replace(/\s+/g, ' ').trim();
  return JSON.stringify(value, (_, inner: unknown) => (isMap(inner) ? Object.fromEntries([...inner].map(([key, item]) => [`${String(key)}`, item])) : inner)).slice(0, 200);
}

/** The graph of a text; undefined when the text is no YAML, or no document. `users` are the documents of the workspace. */
export function graphOf(text: string, slug: string, users: EventUser[]): AutomationGraph | undefined {
  const document = parseDocument(text);
  if (document.errors.length > 0) return undefined;
  let root: unknown;
  try {
    root = document.toJS({ mapAsMap: true });
  } catch {
    return undefined; // an alias of nothing, or too many of them
  }
  return isMap(root) ? new Builder(slug, users).build(root) : undefined;
}

/** What leads to the next instruction. */
type Exit = Pick<GraphEdge, 'from' | 'kind' | 'label'>;

class Builder {
  private readonly nodes: GraphNode[] = [];
  private readonly edges: GraphEdge[] = [];
  private readonly ends: Exit[] = [];

  constructor(private readonly slug: string, private readonly users: EventUser[]) {}

  build(root: Map<unknown, unknown>): AutomationGraph {
    const triggers = this.triggers(field(root, 'when'));
    const exits = this.body(root.get('do'), ['do'], triggers.map((from) => ({ from, kind: 'flow' })), undefined);
    const output = root.get('output');
    this.add({ id: 'end', kind: 'end', title: '', detail: short(output), path: output === undefined ? '' : 'output' });
    this.join([...exits, ...this.ends], 'end');
    return { nodes: this.nodes, edges: this.edges };
  }

  private add(node: GraphNode): string {
    this.nodes.push(node);
    return node.id;
  }

  private join(exits: Exit[], to: string): void {
    for (const exit of exits) if (!this.edges.some((edge) => edge.from === exit.from && edge.to === to && edge.kind === exit.kind)) this.edges.push({ ...exit, to });
  }

  private triggers(when: unknown): string[] {
    const ids: string[] = [];
    const endpoint = field(when, 'endpoint');
    if (endpoint) ids.push(this.add({ id: 'when.endpoint', kind: 'endpoint', title: endpoint === true ? this.slug : short(endpoint), detail: '', path: 'when.endpoint' }));
    list(field(when, 'events')).forEach((event, i) => {
      const type = short(event);
      const id = this.add({ id: `when.events[${i}]`, kind: 'event', title: type, detail: '', path: `when.events[${i}]`, events: [type] });
      ids.push(id);
      this.neighbours(id, this.users.filter((user) => user.emit.some((emitted) => meet(type, emitted))), 'to');
    });
    list(field(when, 'schedules')).forEach((cron, i) => ids.push(this.add({ id: `when.schedules[${i}]`, kind: 'schedule', title: short(cron), detail: '', path: `when.schedules[${i}]` })));
    return ids.length > 0 ? ids : [this.add({ id: 'start', kind: 'start', title: '', detail: '', path: '' })];
  }

  /** Other documents at a node: those that it leads to, or that lead to it. */
  private neighbours(id: string, users: EventUser[], direction: 'from' | 'to'): void {
    const shown = users.length > mostNeighbours ? users.slice(0, mostNeighbours - 1) : users;
    const boxes = shown.map((user) => this.add({ id: `${id} ${user.kind} ${user.slug}`, kind: user.kind, title: user.slug, detail: '', path: '', target: user.slug }));
    if (shown.length < users.length) boxes.push(this.add({ id: `${id} more`, kind: 'automation', title: '', detail: '', path: '', more: users.length - shown.length }));
    for (const box of boxes) this.edges.push(direction === 'from' ? { from: id, to: box, kind: 'event' } : { from: box, to: id, kind: 'event' });
  }

  /** The instructions of a list, one after the other; returns what leads on. `breaks` collects what leaves the loop around it. */
  private body(value: unknown, path: Path, exits: Exit[], breaks: Exit[] | undefined): Exit[] {
    list(value).forEach((item, i) => {
      exits = this.instruction(item, [...path, i], exits, breaks);
    });
    return exits;
  }

  private instruction(item: unknown, at: Path, before: Exit[], breaks: Exit[] | undefined, parallel = false): Exit[] {
    if (item === null || item === undefined || (isMap(item) && item.size === 0)) return before;
    // What is no instruction is drawn all the same: it is an error when it is reached.
    const [key, params] = isMap(item) ? [...item][0]! : [short(item), undefined];
    const name = String(key);
    const path = [...at, ...(isMap(item) ? [name] : [])];
    const id = formatPath(path);
    const node = this.nodeOf(name, params, id);
    if (!parallel) Object.assign(node, { list: formatPath(at.slice(0, -1)), place: at.at(-1) });
    this.add(node);
    this.join(before, id);
    const next: Exit[] = [{ from: id, kind: 'flow' }];
    switch (name) {
      case 'conditions':
        return this.conditions(params, path, id, breaks);
      case 'repeat': {
        const left: Exit[] = [];
        const again = this.body(field(params, 'do'), [...path, 'do'], [{ from: id, kind: 'flow', label: 'each' }], left);
        for (const exit of again) if (exit.from !== id) this.edges.push({ from: exit.from, to: id, kind: 'back' });
        return [{ from: id, kind: 'flow', label: 'then' }, ...left];
      }
      case 'all': {
        const ends = list(params).flatMap((one, i) => this.instruction(one, [...path, i], next, breaks, true).filter((exit) => exit !== next[0]));
        return ends.length > 0 ? ends : next;
      }
      case 'try':
        return this.attempt(params, path, id, breaks);
      case 'break': {
        const scope = short(field(params, 'scope')) || 'automation';
        if (scope === 'repeat' && breaks) breaks.push({ from: id, kind: 'flow' });
        else this.ends.push({ from: id, kind: 'flow', label: 'ends' });
        return [];
      }
      case 'emit':
        if (node.events) this.neighbours(id, this.users.filter((user) => user.listen.some((pattern) => matchesType(node.events![0]!, pattern))), 'from');
        return next;
      default:
        return next;
    }
  }

  private conditions(params: unknown, path: Path, id: string, breaks: Exit[] | undefined): Exit[] {
    const exits: Exit[] = [];
    const branches = isMap(params) ? [...params] : [];
    // The default counts when nothing else does, wherever it stands.
    for (const [key, body] of [...branches.filter(([one]) => one !== 'default'), ...branches.filter(([one]) => one === 'default')]) {
      const name = String(key);
      const branch = this.add({ id: formatPath([...path, name]), kind: 'branch', title: name, detail: '', path: formatPath([...path, name]) });
      this.edges.push({ from: id, to: branch, kind: 'flow' });
      exits.push(...this.body(body, [...path, name], [{ from: branch, kind: 'flow' }], breaks));
    }
    if (!branches.some(([key]) => key === 'default')) exits.push({ from: id, kind: 'flow', label: 'otherwise' });
    return exits;
  }

  private attempt(params: unknown, path: Path, id: string, breaks: Exit[] | undefined): Exit[] {
    let exits = this.body(field(params, 'do'), [...path, 'do'], [{ from: id, kind: 'flow' }], breaks);
    const part = (name: 'catch' | 'finally'): string => this.add({ id: formatPath([...path, name]), kind: 'branch', title: name, detail: '', path: formatPath([...path, name]) });
    if (list(field(params, 'catch')).length > 0) {
      const caught = part('catch');
      this.edges.push({ from: id, to: caught, kind: 'error', label: 'failed' });
      exits = [...exits, ...this.body(field(params, 'catch'), [...path, 'catch'], [{ from: caught, kind: 'flow' }], breaks)];
    } else exits = [...exits, { from: id, kind: 'error', label: 'failed' }];
    if (list(field(params, 'finally')).length === 0) return exits;
    const last = part('finally');
    this.join(exits, last);
    return this.body(field(params, 'finally'), [...path, 'finally'], [{ from: last, kind: 'flow' }], breaks);
  }

  private nodeOf(name: string, params: unknown, id: string): GraphNode {
    const of = (key: string): string => short(field(params, key));
    const node = (detail: string, over: Partial<GraphNode> = {}): GraphNode => ({ id, kind: 'instruction', title: name, detail, path: id, ...over });
    switch (name) {
      case 'set':
        return node([of('name'), of('value')].filter(Boolean).join(' = '));
      case 'delete':
        return node(of('name'));
      case 'conditions':
        return node('', { kind: 'control' });
      case 'repeat':
        return node(of('on') || of('until'), { kind: 'control' });
      case 'all':
      case 'try':
        return node('', { kind: 'control' });
      case 'break':
        return node(of('scope') || 'automation', { kind: 'control' });
      case 'emit': {
        const type = of('event');
        return node(type, type && !/\{\{|\{%/.test(type) ? { events: [type] } : {});
      }
      case 'wait': {
        const events = list(field(params, 'oneOf')).map((one) => short(field(one, 'event'))).filter(Boolean);
        return node(events.join(', ') || (of('timeout') ? `${of('timeout')} s` : ''), { events });
      }
      case 'fetch':
        return node([of('method').toUpperCase(), of('url')].filter(Boolean).join(' ') || short(params));
      case 'run':
        return node([of('module'), of('function')].filter(Boolean).join('.'));
      case 'rateLimit':
        return node(of('name'));
      case 'createUserTopic':
      case 'joinUserTopic':
        return node(of('topic'));
      case 'comment':
        return node(short(params));
      case 'auth':
        return node('');
      case 'runWorkflow': {
        const slug = of('workflow');
        return node(slug, /\{\{|\{%/.test(slug) || !slug ? {} : { kind: 'call', target: slug });
      }
      default:
        return params === undefined ? node('') : node(of('output') && `→ ${of('output')}`, { kind: 'call', target: name });
    }
  }
}
