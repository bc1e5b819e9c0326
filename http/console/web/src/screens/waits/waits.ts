import type { Schema } from '../../lib/api/client.ts';
import type { TypedField } from '../../lib/ui/typedfield.ts';

export type Wait = Schema<'Wait'>;
export type Problem = Schema<'Problem'>;
export type AwaitedEvent = Wait['waitsFor'][number];

/** A payload that fits the filters of a wait as far as they are plain values, to begin an answer with. */
export function payloadFor(filters: unknown): Record<string, unknown> {
  const payload: Record<string, unknown> = {};
  if (!filters || typeof filters !== 'object') return payload;
  for (const [path, wanted] of Object.entries(filters as Record<string, unknown>)) {
    const steps = path.split('.');
    if (steps[0] !== 'payload' || steps.length < 2 || steps.some((step) => step === '__proto__')) continue;
    let value = wanted;
    if (wanted !== null && typeof wanted === 'object' && !Array.isArray(wanted)) {
      const operators = wanted as Record<string, unknown>;
      if ('$eq' in operators) value = operators.$eq;
      else if (Array.isArray(operators.$in) && operators.$in.length > 0) value = operators.$in[0];
      else continue;
    }
    let at = payload;
    for (const step of steps.slice(1, -1)) {
      if (typeof at[step] !== 'object' || at[step] === null) at[step] = {};
      at = at[step] as Record<string, unknown>;
    }
    at[steps[steps.length - 1]!] = value;
  }
  return payload;
}

/** The declared shape of an event's payload, when the workspace says one in `events.types`. */
export function schemaOf(events: unknown, type: string): TypedField | undefined {
  const types = (events as { types?: Record<string, { schema?: TypedField }> } | undefined)?.types;
  const declared = types && Object.hasOwn(types, type) ? types[type]?.schema : undefined;
  if (!declared || typeof declared !== 'object') return undefined;
  // Either a schema of an object, or its fields by name.
  if (declared.properties) return declared;
  const fields = Object.fromEntries(Object.entries(declared).filter(([, field]) => field && typeof field === 'object' && !Array.isArray(field))) as Record<string, TypedField>;
  return Object.keys(fields).length > 0 ? { type: 'object', properties: fields } : undefined;
}

export interface DocumentProblems {
  object: string;
  problems: Problem[];
  errors: number;
}

/** Problems by document: those with errors first, then by name; in one errors first, then by line. */
export function byDocument(problems: Problem[]): DocumentProblems[] {
  const groups = new Map<string, Problem[]>();
  for (const problem of problems) groups.set(problem.object, [...(groups.get(problem.object) ?? []), problem]);
  const weight = (problem: Problem): number => (problem.severity === 'error' ? 0 : 1);
  return [...groups]
    .map(([object, list]) => ({ object, problems: list.sort((a, b) => weight(a) - weight(b) || (a.line ?? 0) - (b.line ?? 0) || a.field.localeCompare(b.field)), errors: list.filter((one) => one.severity === 'error').length }))
    .sort((a, b) => (a.errors > 0 ? 0 : 1) - (b.errors > 0 ? 0 : 1) || a.object.localeCompare(b.object));
}
