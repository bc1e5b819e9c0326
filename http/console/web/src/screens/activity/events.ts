import { csvCell } from '../../lib/csv.ts';
import type { LiveEvent } from '../../lib/live/live.svelte.ts';
import type { AxisNode } from '../../lib/ui/timeaxis.ts';

/** What is asked of an event here; payloads are open. */
export type ActivityEvent = Omit<LiveEvent, 'payload'> & { payload: Record<string, unknown> | null };

interface Trigger {
  type?: string;
  value?: string;
  id?: string;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '');
const field = (event: ActivityEvent, name: string): unknown => event.payload?.[name];

/** Whether an event tells of a failure. */
export function isError(event: ActivityEvent): boolean {
  return event.error !== undefined || event.type === 'error' || event.type.endsWith('.error') || event.type === 'runtime.fetch.failed';
}

export type EventStatus = 'error' | 'warning' | 'ok' | 'waiting' | '';

export function statusOf(event: ActivityEvent): EventStatus {
  if (isError(event)) return event.error?.level === 'warning' ? 'warning' : 'error';
  if (event.type === 'knowledge.documents.failed') return 'warning';
  if (event.type === 'runtime.automations.executed' || event.type === 'knowledge.documents.ready') return 'ok';
  if (event.type === 'runtime.waits.pending') return 'waiting';
  return '';
}

/** The automation that an event is of or about, with its instance in front. */
export function automationOf(event: ActivityEvent): string {
  const slug = text(event.source.automationSlug) || text(field(event, 'automationSlug')) || (event.type.startsWith('runtime.interactions') ? text(field(event, 'automation')) : '');
  const instance = text(event.source.appInstanceFullSlug);
  return slug && instance && !slug.startsWith(`${instance}.`) ? `${instance}.${slug}` : slug;
}

const short = (value: unknown, length = 160): string => {
  const json = JSON.stringify(value) ?? '';
  return json.length > length ? `${json.slice(0, length)}…` : json;
};

/** A line that says what an event is about, in the words of its own payload. */
export function noteOf(event: ActivityEvent): string {
  if (event.error) return `${event.error.error}: ${event.error.message}`;
  const payload = event.payload;
  if (!payload) return '';
  const trigger = payload.trigger as Trigger | undefined;
  const triggered = trigger ? [trigger.type, trigger.value].filter(Boolean).join(' ') : '';
  switch (event.type) {
    case 'runtime.webhooks.triggered':
      return `${text(payload.method)} ${text(payload.endpoint)}`;
    case 'runtime.interactions.triggered':
    case 'runtime.schedules.triggered':
    case 'runtime.automations.executed':
      return triggered;
    case 'runtime.waits.pending': {
      const awaited = ((payload.wait as { oneOf?: { event?: string }[] } | undefined)?.oneOf ?? []).map((one) => one.event).filter(Boolean);
      return awaited.join(', ');
    }
    case 'runtime.waits.fulfilled':
      return text((payload.event as { type?: string } | undefined)?.type);
    case 'workspaces.versions.progress':
      return `${text(payload.step)} ${text(payload.state)}`;
  }
  if (event.type.startsWith('knowledge.documents.')) {
    const why = (payload.error as { message?: string } | undefined)?.message;
    return `${text(payload.knowledgeBase)}: ${text(payload.name) || text(payload.count)}${why ? `, ${why}` : ''}`;
  }
  if (event.type.startsWith('workspaces.') || event.type.startsWith('apps.') || event.type.startsWith('apikeys.') || event.type.startsWith('gateway.')) {
    const inner = Object.values(payload).find((value): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value) && ('slug' in value || 'name' in value));
    const named = text(payload.slug) || text(payload.automationSlug) || text(payload.pageSlug) || text(payload.name) || text(inner?.slug) || text(inner?.name) || text(payload.reason) || text(payload.email);
    if (named) return named;
  }
  const message = text(payload.message);
  return message && isError(event) ? [text(payload.error), message].filter(Boolean).join(': ') : Object.keys(payload).length > 0 ? short(payload) : '';
}

/** Who an event is of: a user, an API key, or undefined for schedules and the platform itself. */
export function personOf(event: ActivityEvent): string | undefined {
  return event.source.userId || undefined;
}

/** Whether the id is that of a visitor: somebody without an account has the id of the session. */
export function isVisitor(id: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-/.test(id);
}

/** Why the payload is not whole, with the setting that says so. */
export function cutOf(event: ActivityEvent): { kind: 'stripped' | 'truncated'; setting: string } | undefined {
  if (event.stripped) return { kind: 'stripped', setting: 'EVENTS_CLEANUP_AUTOMATION_EXECUTED_EXPIRATION' };
  if (event.payload?.truncated === true || (event as { truncated?: boolean }).truncated === true)
    return { kind: 'truncated', setting: event.type === 'runtime.automations.executed' ? 'BROKER_EMIT_EXECUTED_AUTOMATION_MAXLEN' : 'BROKER_EMIT_MAXLEN' };
  return undefined;
}

/** What a trace is in short. */
export interface TraceSummary {
  from: number;
  to: number;
  events: number;
  automations: string[];
  errors: number;
  person: string | undefined;
  trigger: Trigger | undefined;
  firstError: ActivityEvent | undefined;
}

interface Executed {
  executionId: string;
  parentExecutionId?: string;
  startedAt: string;
  duration: number;
  throttled?: number;
  slug: string;
  trigger?: Trigger;
}

const isExecuted = (event: ActivityEvent): boolean => event.type === 'runtime.automations.executed' && typeof field(event, 'executionId') === 'string';

/** When what an event tells of began: an execution is told of at its end. */
function beginOf(event: ActivityEvent): number {
  const startedAt = text(field(event, 'startedAt'));
  const at = Date.parse(event.createdAt);
  return startedAt && event.type.startsWith('runtime.') ? Math.min(at, Date.parse(startedAt)) : at;
}

export function summarize(events: ActivityEvent[]): TraceSummary {
  const automations = new Set<string>();
  let from = Infinity;
  let to = -Infinity;
  for (const event of events) {
    from = Math.min(from, beginOf(event));
    to = Math.max(to, Date.parse(event.createdAt));
    const automation = automationOf(event);
    if (automation && event.type.startsWith('runtime.')) automations.add(automation);
  }
  const errors = events.filter((event) => isError(event));
  // One failure is told of by the error and by the execution that it ended: it counts once.
  const told = new Set(errors.filter((event) => !isExecuted(event)).map((event) => event.source.executionId));
  const counted = errors.filter((event) => !isExecuted(event) || !told.has(event.source.executionId));
  const root = events.find((event) => event.type === 'runtime.interactions.triggered');
  return {
    from: events.length > 0 ? from : 0,
    to: events.length > 0 ? to : 0,
    events: events.length,
    automations: [...automations],
    errors: counted.length,
    person: events.map(personOf).find((id) => id !== undefined),
    trigger: root?.payload?.trigger as Trigger | undefined,
    firstError: counted[0] ?? errors[0],
  };
}

/**
 * The events of one correlation id, oldest first, as a tree on a time axis: executions with what
 * they called, emitted and waited for, and under an event the executions that it triggered. The
 * id of a node is that of the event that tells of it.
 */
export function traceNodes(events: ActivityEvent[], words: { waits: string; waitsFor: (event: string) => string }): AxisNode[] {
  const byExecution = new Map<string, AxisNode>();
  const byEvent = new Map<string, AxisNode>();
  const parents = new Map<AxisNode, { execution?: string; event?: string }>();
  const roots: AxisNode[] = [];

  for (const event of events.filter(isExecuted)) {
    const run = event.payload as unknown as Executed;
    const start = Date.parse(run.startedAt);
    const end = start + run.duration;
    const node: AxisNode = {
      id: event.id, label: automationOf(event) || run.slug, icon: 'automation', start, end, state: event.error ? 'error' : 'ok', children: [],
      note: run.trigger && run.trigger.type !== 'automation' ? [run.trigger.type, run.trigger.value].filter(Boolean).join(' ') : undefined,
      waits: run.throttled ? [{ start, end: start + run.throttled }] : [],
    };
    byExecution.set(run.executionId, node);
    byEvent.set(event.id, node);
    parents.set(node, { execution: run.parentExecutionId, event: run.trigger?.type === 'event' ? run.trigger.id : undefined });
  }
  // What began and has not ended yet.
  for (const event of events) {
    const execution = text(event.source.executionId);
    if (event.type !== 'runtime.interactions.triggered' || byExecution.has(execution)) continue;
    const trigger = field(event, 'trigger') as Trigger | undefined;
    const node: AxisNode = { id: event.id, label: automationOf(event), icon: 'automation', start: beginOf(event), end: undefined, state: 'running', children: [], waits: [], note: [trigger?.type, trigger?.value].filter(Boolean).join(' ') };
    if (execution) byExecution.set(execution, node);
    byEvent.set(event.id, node);
    parents.set(node, { event: trigger?.type === 'event' ? trigger.id : undefined });
  }
  const ends = new Map<string, ActivityEvent>();
  for (const event of events) if (event.type === 'runtime.waits.fulfilled' || event.type === 'runtime.waits.expired') ends.set(text(field(event, 'id')), event);

  for (const event of events) {
    if (byEvent.has(event.id) || event.type === 'runtime.interactions.triggered' || ends.get(text(field(event, 'id'))) === event) continue;
    const at = Date.parse(event.createdAt);
    const execution = text(field(event, 'executionId')) || text(event.source.executionId);
    let node: AxisNode;
    if (event.type === 'runtime.waits.pending') {
      const ended = ends.get(text(field(event, 'id')));
      const end = ended ? Date.parse(ended.createdAt) : undefined;
      const awaited = noteOf(event);
      node = { id: event.id, label: awaited ? words.waitsFor(awaited) : words.waits, icon: 'wait', start: at, end: end === at ? at + 1 : end, waits: [{ start: at, end }], state: ended ? 'plain' : 'running', children: [] };
      byExecution.get(execution)?.waits?.push({ start: at, end });
    } else {
      node = { id: event.id, label: event.type, icon: event.type.startsWith('runtime.webhooks') ? 'webhook' : event.type === 'runtime.fetch.failed' ? 'external' : 'event', start: at, end: at, state: isError(event) ? 'error' : 'plain', note: noteOf(event), children: [] };
    }
    byEvent.set(event.id, node);
    parents.set(node, { execution });
  }

  for (const [node, { execution, event }] of parents) {
    const parent = (event ? byEvent.get(event) : undefined) ?? (execution ? byExecution.get(execution) : undefined);
    if (parent && parent !== node && !isBelow(parent, node)) parent.children.push(node);
    else roots.push(node);
  }
  // In the order in which things began; an execution before what it did in the same millisecond.
  const sort = (list: AxisNode[]): void => {
    list.sort((a, b) => a.start - b.start || (a.end === a.start ? 1 : 0) - (b.end === b.start ? 1 : 0) || (a.id < b.id ? -1 : 1));
    for (const node of list) sort(node.children);
  };
  sort(roots);
  return roots;
}

/** Whether `node` is somewhere below `top`; ids of events come from outside and could make a ring. */
function isBelow(node: AxisNode, top: AxisNode): boolean {
  return top.children.some((child) => child === node || isBelow(node, child));
}

/* Files. */

const csvColumns: [string, (event: ActivityEvent) => unknown][] = [
  ['time', (event) => event.createdAt],
  ['type', (event) => event.type],
  ['id', (event) => event.id],
  ['automation', automationOf],
  ['user', (event) => event.source.userId],
  ['correlationId', (event) => event.source.correlationId],
  ['error', (event) => event.error?.error],
  ['message', (event) => event.error?.message],
  ['size', (event) => event.size],
  ['payload', (event) => JSON.stringify(event.payload)],
];

export const csvHead = `${csvColumns.map(([name]) => name).join(',')}\r\n`;

export function csvLine(event: ActivityEvent): string {
  return `${csvColumns.map(([, read]) => csvCell(read(event))).join(',')}\r\n`;
}
