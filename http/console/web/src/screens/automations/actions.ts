import { answer, api, asYaml, writeHeaders, yamlBody } from '../../lib/api/client.ts';
import { t } from '../../lib/i18n.svelte.ts';
import { slugInText, withIdentity } from '../../lib/identity.ts';
import { showToast, showUndo } from '../../lib/toasts.svelte.ts';

/* What can be done with a whole automation, from the list and from its own screen. Refusals are thrown. */
const route = '/v2/workspaces/{workspaceId}/automations/{slug}';

export async function deleteAutomation(workspaceId: string, slug: string, after: () => void = () => {}): Promise<void> {
  const { seq } = await answer(api.DELETE(route, { params: { path: { workspaceId, slug } } }));
  showUndo(t.automations.deleted(slug), workspaceId, seq, after);
}

export async function setDisabled(workspaceId: string, slug: string, disabled: boolean): Promise<void> {
  const { seq } = await answer(api.PATCH(route, { params: { path: { workspaceId, slug } }, body: { disabled } as never }));
  showUndo(disabled ? t.automations.disabledNow(slug) : t.automations.enabledNow(slug), workspaceId, seq);
}

/** Gives it another slug; everything else stays. */
export async function renameAutomation(workspaceId: string, slug: string, next: string, etag: string): Promise<void> {
  await answer(api.PATCH(route, { params: { path: { workspaceId, slug } }, body: { slug: next } as never, headers: writeHeaders({ ifMatch: etag }) }));
  showToast(t.automations.renamed(next));
}

export async function createAutomation(workspaceId: string, text: string): Promise<string> {
  const { data, seq } = await answer(api.POST('/v2/workspaces/{workspaceId}/automations', { params: { path: { workspaceId } }, ...yamlBody(text) }));
  showUndo(t.automations.created, workspaceId, seq);
  return slugInText(String(data));
}

/** A second one with the same text, under another slug and name. */
export async function duplicateAutomation(workspaceId: string, slug: string, next: string, name: string): Promise<string> {
  const { data } = await answer(api.GET(route, { params: { path: { workspaceId, slug } }, ...asYaml }));
  return createAutomation(workspaceId, withIdentity(String(data), next, name));
}
