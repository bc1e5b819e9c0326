import { answer, api, writeHeaders } from '../../lib/api/client.ts';
import { t } from '../../lib/i18n.svelte.ts';
import { showUndo } from '../../lib/toasts.svelte.ts';

/* What can be done with an app instance, from the list and from its own screen. Refusals are thrown. */
const route = '/v2/workspaces/{workspaceId}/apps/{slug}';

export async function uninstallApp(workspaceId: string, slug: string, after: () => void = () => {}): Promise<void> {
  const { seq } = await answer(api.DELETE(route, { params: { path: { workspaceId, slug } } }));
  showUndo(t.apps.uninstalled(slug), workspaceId, seq, after);
}

/** Changes single fields of an instance; the rest stays. Returns the position of the change. */
export async function changeInstance(workspaceId: string, slug: string, change: { disabled?: boolean; appVersion?: string | null; config?: Record<string, unknown> }, done: string): Promise<string> {
  const { seq } = await answer(api.PATCH(route, { params: { path: { workspaceId, slug } }, body: change as never }));
  showUndo(done, workspaceId, seq);
  return seq;
}

/** Gives it another slug; everything else stays. */
export async function renameInstance(workspaceId: string, slug: string, next: string, etag: string): Promise<void> {
  const { seq } = await answer(api.PATCH(route, { params: { path: { workspaceId, slug } }, body: { slug: next } as never, headers: writeHeaders({ ifMatch: etag }) }));
  showUndo(t.apps.renamed(next), workspaceId, seq);
}
