import { answer, api } from '../../lib/api/client.ts';

/** Saves the archive of a workspace. Fetched here and not by a link, so that a refusal is shown and not opened. */
export async function exportWorkspace(workspaceId: string): Promise<void> {
  const { data, response } = await answer(api.GET('/v2/workspaces/{workspaceId}/export', { params: { path: { workspaceId } }, parseAs: 'blob' }));
  const name = /filename="?([^";]+)/.exec(response.headers.get('content-disposition') ?? '')?.[1] ?? `${workspaceId}.zip`;
  const link = document.createElement('a');
  link.href = URL.createObjectURL(data as unknown as Blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
