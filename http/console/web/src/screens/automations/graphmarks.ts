import { plainPath } from '../../lib/editor/yamloutline.ts';
import { matchesType } from '../../lib/eventtype.ts';
import type { AutomationGraph, GraphNode } from './graph.ts';
import type { Execution, WholeRun } from './run.svelte.ts';

/** What a run did with a node; one that it did not reach has no mark. */
export type Mark = 'done' | 'failed' | 'current';

export interface Marks {
  byNode: Map<string, Mark>;
  /** Executions of the automation in the run. */
  executions: number;
  /** What it did step by step is not recorded, or not yet: only what its events tell is marked. */
  partial: boolean;
}

const order: Record<Mark, number> = { done: 1, current: 2, failed: 3 };

/** What a run did with the nodes of the graph of an automation. Of several executions of it all count. */
export function marksOf(graph: AutomationGraph, run: WholeRun, slug: string, emitted: ReadonlySet<string> = new Set()): Marks {
  const byNode = new Map<string, Mark>();
  const known = new Set(graph.nodes.map((node) => node.id));
  const mark = (id: string, as: Mark): void => {
    const before = byNode.get(id);
    if (known.has(id) && (!before || order[as] > order[before])) byNode.set(id, as);
  };
  const executions = executionsOf(run.tree, slug);
  for (const execution of executions) {
    for (const id of startedBy(graph, execution)) mark(id, 'done');
    if (execution.steps) markSteps(execution, mark);
    else markEvents(graph, execution, emitted, mark);
    if (execution.duration !== undefined && !execution.error) mark('end', 'done');
  }
  // What is inside of a container was reached through it.
  for (const [id, as] of [...byNode]) {
    for (const node of graph.nodes) if (isInside(id, node)) mark(node.id, as === 'current' ? 'current' : 'done');
  }
  const partial = executions.some((one) => one.steps === undefined);
  // A list runs in its order: what stands before something that was reached has run.
  if (partial) {
    for (const reached of graph.nodes.filter((node) => byNode.has(node.id))) {
      for (const node of graph.nodes) if (node.list !== undefined && node.list === reached.list && node.place! < reached.place!) mark(node.id, 'done');
    }
  }
  return { byNode, executions: executions.length, partial };
}

const isInside = (id: string, container: GraphNode): boolean =>
  (container.kind === 'control' || container.kind === 'branch') && id.length > container.id.length && id.startsWith(container.id) && /^[.[]/.test(id.slice(container.id.length));

function executionsOf(tree: Execution[], slug: string): Execution[] {
  return tree.flatMap((one) => [...(one.slug === slug ? [one] : []), ...executionsOf(one.children, slug)]);
}

/** The triggers that may have started an execution. */
function startedBy(graph: AutomationGraph, { trigger }: Execution): string[] {
  const kind = { event: 'event', endpoint: 'endpoint', schedule: 'schedule' }[trigger.type] ?? 'start';
  const fitting = graph.nodes.filter((node) => node.kind === kind && (kind === 'endpoint' || kind === 'start' || matchesType(trigger.value, node.title)));
  return fitting.map((node) => node.id);
}

function markSteps(execution: Execution, mark: (id: string, as: Mark) => void): void {
  for (const step of execution.steps ?? []) {
    const id = plainPath(step.instruction);
    mark(id, step.error ? 'failed' : 'done');
    // Of `conditions` the result is the branch that was taken; an empty one has nothing inside that tells.
    if (id.endsWith('.conditions') && typeof step.result === 'string') mark(`${id}.${step.result}`, 'done');
  }
}

/** While it runs, and for a run without recording: waits, calls and events are known, by their names. */
function markEvents(graph: AutomationGraph, execution: Execution, emitted: ReadonlySet<string>, mark: (id: string, as: Mark) => void): void {
  const called = new Map<string, Mark>();
  const heard = new Set(emitted);
  for (const child of execution.children) {
    if (child.trigger.type === 'event') heard.add(child.trigger.value);
    else called.set(child.slug, child.error ? 'failed' : child.duration === undefined ? 'current' : 'done');
  }
  const running = execution.duration === undefined;
  const awaited = new Set(execution.waitsFor?.map((one) => one.event));
  const waits = (events: string[]): boolean => (events.length > 0 ? events.every((type) => awaited.has(type)) : execution.until !== undefined && awaited.size === 0);
  for (const node of graph.nodes) {
    if (node.kind === 'call' && called.has(node.target!)) mark(node.id, called.get(node.target!)!);
    else if (node.title === 'emit' && node.events?.some((type) => heard.has(type))) mark(node.id, 'done');
    else if (node.title === 'wait' && running && waits(node.events ?? [])) mark(node.id, 'current');
  }
}
