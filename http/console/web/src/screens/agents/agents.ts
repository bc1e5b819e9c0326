import { answer, api, type Schema } from '../../lib/api/client.ts';
import { localized, t } from '../../lib/i18n.svelte.ts';
import { showUndo } from '../../lib/toasts.svelte.ts';

export type Agent = Schema<'Agent'>;
export type AgentMeta = Schema<'AgentMeta'>;
export const route = '/v2/workspaces/{workspaceId}/agents/{slug}';

export function titleOf(agent: { name?: unknown; slug: string }): string {
  return localized(agent.name) || agent.slug;
}

/** The agents of a workspace that was read, by name. */
export function agentsOf(workspace: Schema<'Workspace'> | undefined): AgentMeta[] {
  return Object.values((workspace?.agents ?? {}) as unknown as Record<string, AgentMeta>).sort((a, b) => titleOf(a).localeCompare(titleOf(b)));
}

/** How an agent stands with what callers get of it. */
export function stateOf(agent: Pick<AgentMeta, 'published' | 'disabled'>): 'disabled' | 'draft' | 'changed' | 'published' {
  if (agent.disabled) return 'disabled';
  if (!agent.published) return 'draft';
  return agent.published.current ? 'published' : 'changed';
}
export const stateKinds = { disabled: 'plain', draft: 'plain', changed: 'warn', published: 'ok' } as const;

/** The text of an agent without what follows from sharing and publishing it: that is changed there, and is no change of the text. */
export function shownText(text: string): string {
  return text.replace(/^(public|published): \w+\n/gm, '');
}

/** Deletes an agent, with Undo. Refusals are thrown. */
export async function deleteAgent(workspaceId: string, agent: AgentMeta | Agent, after: () => void = () => {}): Promise<string> {
  const { seq } = await answer(api.DELETE(route, { params: { path: { workspaceId, slug: agent.slug } } }));
  showUndo(t.agents.deleted(titleOf(agent)), workspaceId, seq, after);
  return seq;
}
