import type { Schema } from '../../lib/api/client.ts';
import { localized, t } from '../../lib/i18n.svelte.ts';
import type { OpenWorkspace } from '../../lib/workspace.svelte.ts';
import type { IconName } from '../../lib/ui/icons.ts';
import type { TypedField } from '../../lib/ui/typedfield.ts';

/** An automation without its instructions, as the workspace lists it. */
export interface AutomationMeta {
  slug: string;
  name: unknown;
  description?: unknown;
  arguments?: Record<string, TypedField>;
  schemas?: { conditions?: Record<string, unknown>; payload?: TypedField; output?: TypedField }[];
  validateArguments?: boolean;
  when?: { events?: string[]; schedules?: string[]; endpoint?: boolean | string };
  private?: boolean;
  disabled?: boolean;
  labels?: string[];
  events?: { emit?: string[]; listen?: string[] };
  updatedAt?: string;
  updatedBy?: string;
}

/** Why nothing can be written now; undefined when it can. */
export function whyReadOnly(workspace: OpenWorkspace): string | undefined {
  if (!workspace.readOnly) return undefined;
  return workspace.at === undefined ? t.automations.readOnlyNow : t.automations.readOnlyThen;
}

/** The automations of a workspace read, by slug. */
export function automationsOf(workspace: Schema<'Workspace'> | undefined): AutomationMeta[] {
  return Object.values((workspace?.automations ?? {}) as unknown as Record<string, AutomationMeta>);
}

/** `payments/Charge` is in the folder `payments` with the label `Charge`. */
export function placeOf(automation: { name: unknown; slug: string }): { folder: string; label: string } {
  const name = localized(automation.name) || automation.slug;
  const cut = name.lastIndexOf('/');
  return cut > 0 && cut < name.length - 1 ? { folder: name.slice(0, cut), label: name.slice(cut + 1) } : { folder: '', label: name };
}

export type Trigger = 'endpoint' | 'event' | 'schedule';
export const triggerIcons: Record<Trigger, IconName> = { endpoint: 'link', event: 'event', schedule: 'schedule' };

/** What starts it, with the words of each. */
export function triggersOf(automation: AutomationMeta): { kind: Trigger; values: string[] }[] {
  const { when } = automation;
  const triggers: { kind: Trigger; values: string[] }[] = [];
  if (when?.endpoint) triggers.push({ kind: 'endpoint', values: [when.endpoint === true ? automation.slug : when.endpoint] });
  if (when?.events?.length) triggers.push({ kind: 'event', values: when.events });
  if (when?.schedules?.length) triggers.push({ kind: 'schedule', values: when.schedules });
  return triggers;
}

/** The input as a form: the first branch of `schemas` without conditions, else the arguments. Nothing: JSON only. */
export function inputSchema(automation: AutomationMeta): TypedField | undefined {
  const branch = automation.schemas?.find((one) => one.payload && Object.keys(one.conditions ?? {}).length === 0) ?? automation.schemas?.find((one) => one.payload);
  if (branch?.payload?.properties && Object.keys(branch.payload.properties).length > 0) return { type: 'object', ...branch.payload };
  if (automation.arguments && Object.keys(automation.arguments).length > 0) return { type: 'object', properties: automation.arguments };
  return undefined;
}

/** Rows of the list: folders and what is in them, in the order of names. */
export type Row = { kind: 'folder'; id: string; name: string; depth: number; count: number; open: boolean } | { kind: 'automation'; id: string; depth: number; label: string; automation: AutomationMeta };

export function listRows(automations: AutomationMeta[], search: string, closed: ReadonlySet<string>): Row[] {
  const wanted = search.trim().toLowerCase();
  interface Folder {
    folders: Map<string, Folder>;
    items: { label: string; automation: AutomationMeta }[];
  }
  const root: Folder = { folders: new Map(), items: [] };
  for (const automation of automations) {
    if (wanted && !`${automation.slug} ${localized(automation.name)} ${localized(automation.description)} ${(automation.labels ?? []).join(' ')}`.toLowerCase().includes(wanted)) continue;
    const { folder, label } = placeOf(automation);
    let at = root;
    for (const part of folder ? folder.split('/') : []) {
      let next = at.folders.get(part);
      if (!next) at.folders.set(part, (next = { folders: new Map(), items: [] }));
      at = next;
    }
    at.items.push({ label, automation });
  }
  const rows: Row[] = [];
  const countOf = (folder: Folder): number => folder.items.length + [...folder.folders.values()].reduce((sum, one) => sum + countOf(one), 0);
  const add = (folder: Folder, path: string, depth: number): void => {
    for (const [name, inner] of [...folder.folders].sort(([a], [b]) => a.localeCompare(b))) {
      const id = path ? `${path}/${name}` : name;
      const open = wanted !== '' || !closed.has(id);
      rows.push({ kind: 'folder', id: `folder:${id}`, name, depth, count: countOf(inner), open });
      if (open) add(inner, id, depth + 1);
    }
    for (const { label, automation } of folder.items.sort((a, b) => a.label.localeCompare(b.label))) rows.push({ kind: 'automation', id: automation.slug, depth, label, automation });
  };
  add(root, '', 0);
  return rows;
}

/** The nearest slugs of one that is not there. */
export function nearestSlugs(slug: string, slugs: string[]): string[] {
  const pairs = (text: string): Set<string> => new Set(Array.from({ length: Math.max(0, text.length - 1) }, (_, i) => text.slice(i, i + 2).toLowerCase()));
  const wanted = pairs(slug);
  return slugs
    .map((one) => {
      const have = pairs(one);
      return { one, score: [...wanted].filter((pair) => have.has(pair)).length / Math.max(1, wanted.size + have.size) };
    })
    .filter(({ score }) => score > 0.1)
    .sort((a, b) => b.score - a.score)
    .slice(0, 3)
    .map(({ one }) => one);
}
