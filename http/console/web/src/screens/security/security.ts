import type { Schema } from '../../lib/api/client.ts';
import { t } from '../../lib/i18n.svelte.ts';
import { actionName, subjectName } from '../../lib/ui/rights.ts';

export type Share = Schema<'Share'>;
export type ApiKey = Schema<'ApiKey'>;
export type Rule = Schema<'Rule'>;

/** What can be done with what (api 4.1). */
export const vocabulary: Record<string, string[]> = {
  workspaces: ['create', 'read', 'update', 'delete', 'manage_permissions', 'manage_security', 'manage_repositories', 'get_usage', 'aggregate_search'],
  automations: ['create', 'read', 'update', 'delete', 'execute', 'test'],
  pages: ['create', 'read', 'update', 'delete', 'manage_permissions'],
  apps: ['create', 'read', 'update', 'delete'],
  files: ['create', 'read', 'update', 'delete'],
  events: ['create', 'read'],
  secrets: ['create', 'read', 'update', 'delete'],
  collections: ['create', 'read', 'update', 'delete'],
  knowledgeBases: ['create', 'read', 'update', 'delete', 'manage_permissions'],
  documents: ['create', 'read', 'update', 'delete'],
  agents: ['create', 'read', 'update', 'delete', 'execute', 'manage_permissions'],
};
export const subjects = Object.keys(vocabulary);
export const policies = ['read', 'create', 'update', 'delete', 'manage_permissions'];

/** The actions that some of these subjects have; `manage` is all of them. */
export function actionsOf(chosen: string[]): string[] {
  const all = chosen.includes('all') || chosen.length === 0 ? subjects : chosen;
  return [...new Set([...all.flatMap((subject) => vocabulary[subject] ?? []), 'manage'])];
}

/** One or several words, as a list. */
export const wordsOf = (value: string | string[] | undefined): string[] => (value === undefined ? [] : Array.isArray(value) ? value : [value]);

/** What a security document says, as far as its list reads it. */
export interface SecurityContent {
  roles: Record<string, { description?: string; auth?: Record<string, unknown> }>;
  rules: Rule[];
}

/** The content of a security document; undefined while its text is none. */
export function contentOf(parsed: unknown): SecurityContent | undefined {
  if (parsed === undefined || (parsed !== null && (typeof parsed !== 'object' || Array.isArray(parsed)))) return undefined;
  const { roles, rules } = ((parsed as { authorizations?: unknown } | null)?.authorizations ?? {}) as { roles?: unknown; rules?: unknown };
  return {
    roles: roles !== null && typeof roles === 'object' && !Array.isArray(roles) ? (roles as SecurityContent['roles']) : {},
    rules: Array.isArray(rules) ? (rules.filter((rule) => rule !== null && typeof rule === 'object') as Rule[]) : [],
  };
}

/** An action by itself, in a list of choices: "manage sharing", where a sentence would go on with of what. */
export function actionLabel(action: string): string {
  return (t.security.actionLabels as Record<string, string>)[action] ?? actionName(action);
}

/** "editor may read, change pages": a rule as a sentence, without its conditions. */
export function ruleSentence(rule: Pick<Rule, 'action' | 'subject' | 'role' | 'inverted'>): string {
  const roles = wordsOf(rule.role);
  return t.security.sentence(roles.length > 0 ? roles.join(', ') : t.security.everyone, Boolean(rule.inverted), wordsOf(rule.action).map(actionName).join(', '), wordsOf(rule.subject).map(subjectName).join(', '));
}

/** What a change of the document does to its rows. */
export interface SecurityChanges {
  added: Rule[];
  removed: Rule[];
  changed: { before: Rule; after: Rule }[];
  /** The same rules in another order. */
  reordered: boolean;
  rolesAdded: string[];
  rolesChanged: string[];
  rolesRemoved: string[];
}

/** Rules that differ; one that is gone and one that is new at the same place are one that changed. */
export function changesOf(before: SecurityContent, after: SecurityContent): SecurityChanges {
  const text = (rule: Rule): string => JSON.stringify(rule);
  const unmatched = (rules: Rule[], others: Rule[]): { rule: Rule; at: number }[] => {
    const left = others.map(text);
    return rules.flatMap((rule, at) => {
      const found = left.indexOf(text(rule));
      if (found >= 0) {
        left.splice(found, 1);
        return [];
      }
      return [{ rule, at }];
    });
  };
  const gone = unmatched(before.rules, after.rules);
  const fresh = unmatched(after.rules, before.rules);
  const changed = gone.flatMap(({ rule, at }) => {
    const now = fresh.find((one) => one.at === at);
    return now ? [{ before: rule, after: now.rule }] : [];
  });
  const stays = (rules: Rule[], apart: { at: number }[]): string => rules.filter((_, at) => !apart.some((one) => one.at === at)).map(text).join('\n');
  const names = Object.keys;
  return {
    added: fresh.map(({ rule }) => rule).filter((rule) => !changed.some((one) => one.after === rule)),
    removed: gone.map(({ rule }) => rule).filter((rule) => !changed.some((one) => one.before === rule)),
    changed,
    reordered: stays(before.rules, gone) !== stays(after.rules, fresh),
    rolesAdded: names(after.roles).filter((name) => !(name in before.roles)),
    rolesChanged: names(after.roles).filter((name) => name in before.roles && JSON.stringify(before.roles[name]) !== JSON.stringify(after.roles[name])),
    rolesRemoved: names(before.roles).filter((name) => !(name in after.roles)),
  };
}

/** Where a rule comes from (api 5.11): its row in this screen, or words for what has none. */
export function originOf(origin: string): { kind: 'rule'; index: number } | { kind: 'share'; target: string } | { kind: 'key'; id: string } | { kind: 'builtIn'; who: string } | { kind: 'none' } {
  const rule = /^authorizations\.rules\[(\d+)\]$/.exec(origin);
  if (rule) return { kind: 'rule', index: Number(rule[1]) };
  const [kind, ...rest] = origin.split(':');
  const what = rest.join(':');
  if (kind === 'share') return { kind: 'share', target: what };
  if (kind === 'apiKey') return { kind: 'key', id: what };
  return kind === 'builtIn' ? { kind: 'builtIn', who: what } : { kind: 'none' };
}

/** A target as addresses name it: a user id, `role:{name}`, `*`. */
export function targetOf(share: Share): string {
  return share.target.public ? '*' : share.target.role ? `role:${share.target.role}` : (share.target.id ?? '');
}

/** What the caller holds, by subject: only that can be given to a key. */
export function grantable(can: (action: string, subject: string) => boolean): Record<string, string[]> {
  return Object.fromEntries(Object.entries(vocabulary).map(([subject, actions]) => [subject, actions.filter((action) => can(action, subject))]).filter(([, actions]) => actions!.length > 0));
}
