import type { Schema } from '../../lib/api/client.ts';
import { localized } from '../../lib/i18n.svelte.ts';
import type { Fields } from '../../lib/fields.ts';
import type { TypedField } from '../../lib/ui/typedfield.ts';

export type Instance = Schema<'AppInstanceDetail'>;
export type App = Schema<'App'>;

/** The app instances of a workspace read, by slug. At an earlier moment it is not known what they added. */
export function instancesOf(workspace: Schema<'Workspace'> | undefined): Instance[] {
  const listed = Object.values((workspace?.imports ?? {}) as unknown as Record<string, Instance>);
  return listed.map((one) => ({ ...one, automations: one.automations ?? [], blocks: one.blocks ?? [] })).sort((a, b) => a.slug.localeCompare(b.slug));
}

/** The instances that a filter lets through. */
export function filterInstances(instances: Instance[], search: string): Instance[] {
  const wanted = search.trim().toLowerCase();
  return instances.filter((one) => `${one.slug} ${one.appSlug} ${one.appName ?? ''} ${(one.labels ?? []).join(' ')}`.toLowerCase().includes(wanted));
}

/** What the server shows in place of a secret, and keeps what is stored when it is sent back. */
export const mask = '********';

const isObject = (value: unknown): value is Fields => value !== null && typeof value === 'object' && !Array.isArray(value);

/** Settings as the form shows them: without the masks. What is not shown cannot be changed by mistake. */
export function withoutMasks(stored: Fields): Fields {
  return Object.fromEntries(Object.entries(stored).flatMap(([name, value]) => (value === mask ? [] : [[name, isObject(value) ? withoutMasks(value) : value]])));
}

/** Settings as they are sent: a secret that nobody typed anew keeps its mask, and by that its value. */
export function withMasks(shown: Fields, stored: Fields): Fields {
  const sent: Fields = {};
  // In the order of what is stored, so that nothing changes its place.
  for (const name of new Set([...Object.keys(stored), ...Object.keys(shown)])) {
    const [now, before] = [shown[name], stored[name]];
    if (before === mask && now === undefined) sent[name] = mask;
    else if (now !== undefined) sent[name] = isObject(now) && isObject(before) ? withMasks(now, before) : now;
  }
  return sent;
}

/** The form of the settings of an app: its declared fields, then values without a declaration as JSON. */
export function settingsForm(schema: Record<string, TypedField> | undefined, stored: Fields): TypedField {
  const properties: Record<string, TypedField> = {};
  for (const [name, field] of Object.entries(schema ?? {})) properties[name] = formField(field, stored[name]);
  for (const name of Object.keys(stored)) properties[name] ??= stored[name] === mask ? { type: 'string', secret: true } : {};
  return { type: 'object', properties };
}

/** A secret that is set is not asked for again. */
function formField(field: TypedField, stored: unknown): TypedField {
  if (stored === mask) return { ...field, required: false };
  if (!isObject(stored) || !field.properties) return field;
  const kept = Object.keys(stored).filter((name) => stored[name] === mask);
  return {
    ...field,
    required: Array.isArray(field.required) ? field.required.filter((name) => !kept.includes(name)) : field.required,
    properties: Object.fromEntries(Object.entries(field.properties).map(([name, child]) => [name, formField(child, stored[name])])),
  };
}

/** What an app is called. */
export function appTitle(app: { name?: unknown; slug: string }): string {
  return localized(app.name) || app.slug;
}
