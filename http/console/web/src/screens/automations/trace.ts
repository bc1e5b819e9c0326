import type { Schema } from '../../lib/api/client.ts';

type Execution = Schema<'RunExecution'>;
type Effect = Schema<'RunEffect'>;
type Step = Schema<'RunStep'>;

/** A row of the trace: an execution, or something that left one. */
export interface TraceNode {
  id: string;
  kind: 'execution' | 'effect';
  /** Kind of the effect; what started the execution. */
  sort: string;
  title: string;
  /** Its instruction with the automation whose document has it; empty for what nothing called. */
  slug: string;
  instruction: string;
  iteration: number[];
  start: number;
  /** Undefined while it goes on. */
  end: number | undefined;
  /** Parts that it only waited for: a wait, or its turn. */
  idle: { start: number; end: number | undefined; why: 'wait' | 'throttle' }[];
  error?: { error: string; message: string; details?: unknown };
  step?: Step;
  execution?: Execution;
  effect?: Effect;
  children: TraceNode[];
}

/** Effects that say nothing about time: they are left out. */
const silent = new Set(['clock', 'random', 'config', 'next', 'context']);
const idle = new Set(['wait', 'sleep', 'throttle']);

const timeOf = (text: string): number => new Date(text).getTime();
const placeKey = (instruction: string, iteration: number[] | undefined): string => `${instruction}|${(iteration ?? []).join('.')}`;

/** The rows of a run. What was called hangs in the place of its call, what was triggered under the emit that caused it. */
export function traceOf(tree: Execution[]): TraceNode[] {
  return tree.map((execution) => executionNode(execution, '', '', []));
}

function executionNode(execution: Execution, callerSlug: string, instruction: string, iteration: number[]): TraceNode {
  const start = timeOf(execution.startedAt);
  const end = execution.duration === undefined ? undefined : start + execution.duration;
  const node: TraceNode = {
    id: execution.executionId, kind: 'execution', sort: execution.trigger.type, title: execution.slug, slug: callerSlug, instruction, iteration, start, end,
    idle: [], error: execution.error, execution, children: [],
  };
  if (execution.throttled) node.idle.push({ start, end: start + execution.throttled, why: 'throttle' });
  const steps = new Map((execution.steps ?? []).map((step) => [placeKey(step.instruction, step.iteration), step]));
  const left = new Map(execution.children.map((child) => [child.executionId, child]));
  const claim = (matches: (child: Execution) => boolean): Execution[] => {
    const found = [...left.values()].filter(matches);
    for (const child of found) left.delete(child.executionId);
    return found;
  };
  for (const effect of execution.effects ?? []) {
    const at = effect.at ? timeOf(effect.at) : undefined;
    if (effect.executionId) {
      for (const child of claim((one) => one.executionId === effect.executionId)) {
        node.children.push({ ...executionNode(child, execution.slug, effect.instruction, effect.iteration ?? []), step: steps.get(placeKey(effect.instruction, effect.iteration)), effect });
      }
      continue;
    }
    if (silent.has(effect.kind) || at === undefined) continue;
    const step = steps.get(placeKey(effect.instruction, effect.iteration));
    const row: TraceNode = {
      id: `${execution.executionId}/${effect.n}`, kind: 'effect', sort: effect.kind, title: effect.summary, slug: execution.slug, instruction: effect.instruction, iteration: effect.iteration ?? [],
      start: at, end: at + effect.duration, idle: [], step, effect, children: [],
      ...(step?.error ? { error: { error: step.error.split(':')[0]!, message: step.error } } : {}),
    };
    if (idle.has(effect.kind)) {
      row.idle.push({ start: at, end: row.end, why: effect.kind === 'throttle' ? 'throttle' : 'wait' });
      node.idle.push(row.idle[0]!);
    }
    if (effect.eventId) row.children = claim((child) => child.trigger.type === 'event' && child.trigger.id === effect.eventId).map((child) => executionNode(child, '', '', []));
    node.children.push(row);
  }
  for (const child of left.values()) node.children.push(executionNode(child, child.trigger.type === 'automation' ? execution.slug : '', '', []));
  if (end === undefined && (execution.waitsFor !== undefined || execution.until)) {
    const since = Math.max(start, ...node.children.map((child) => child.end ?? child.start));
    node.idle.push({ start: since, end: undefined, why: 'wait' });
  }
  // An instruction that failed without leaving the interpreter has no effect: its error shows all the same.
  if (execution.error && !node.children.some((child) => child.error)) {
    const failed = (execution.steps ?? []).filter((step) => step.error).pop();
    if (failed) {
      const at = timeOf(failed.at);
      node.children.push({
        id: `${execution.executionId}/step${failed.n}`, kind: 'effect', sort: 'step', title: failed.instruction.split('.').pop() ?? '', slug: execution.slug, instruction: failed.instruction, iteration: failed.iteration ?? [],
        start: at, end: at + failed.duration, idle: [], step: failed, error: { error: failed.error!.split(':')[0]!, message: failed.error! }, children: [],
      });
    }
  }
  node.children.sort((a, b) => a.start - b.start);
  return node;
}

export interface TraceRow {
  node: TraceNode;
  level: number;
  /** Place among its siblings, from 1. */
  position: number;
  size: number;
}

/** Rows that are shown: all but those below a closed node. */
export function visibleRows(nodes: TraceNode[], closed: ReadonlySet<string>, level = 1): TraceRow[] {
  return nodes.flatMap((node, i) => [{ node, level, position: i + 1, size: nodes.length }, ...(closed.has(node.id) ? [] : visibleRows(node.children, closed, level + 1))]);
}

/** First and last moment of all rows. `now` stands for what has not ended. */
export function spanOf(nodes: TraceNode[], now: number): { start: number; end: number } {
  let start = Infinity;
  let end = -Infinity;
  const visit = (node: TraceNode): void => {
    start = Math.min(start, node.start);
    end = Math.max(end, node.end ?? now);
    node.children.forEach(visit);
  };
  nodes.forEach(visit);
  if (!Number.isFinite(start)) return { start: now, end: now + 1 };
  return { start, end: Math.max(end, start + 1) };
}

/** Three to six round moments of an axis, in milliseconds from its start. */
export function ticksOf(length: number): number[] {
  const rough = length / 4;
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 0.1)));
  const step = Math.max(1, [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough) ?? power);
  const ticks: number[] = [];
  for (let at = 0; at <= length + step * 0.001; at += step) ticks.push(at);
  return ticks;
}

/** The first error of a trace, deepest first: what went wrong, not what followed from it. */
export function firstError(nodes: TraceNode[]): TraceNode | undefined {
  for (const node of nodes) {
    if (!node.error) {
      const below = firstError(node.children);
      if (below) return below;
      continue;
    }
    return firstError(node.children) ?? node;
  }
  return undefined;
}

/** Why a run cannot be replayed: what the server said when it was tried, else what the run says of itself. Undefined when it can. */
export function whyNotReplayable(over: boolean, recorded: boolean | 'truncated' | undefined, refusal: { code: string; reason: string } | undefined): 'running' | 'not_recorded' | 'truncated' | 'expired' | undefined {
  if (refusal?.code === 'resource_conflict') {
    for (const reason of ['running', 'not_recorded', 'truncated', 'expired'] as const) if (refusal.reason === reason) return reason;
  }
  if (!over) return 'running';
  if (recorded === 'truncated') return 'truncated';
  return recorded ? undefined : 'not_recorded';
}
