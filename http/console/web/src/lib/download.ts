import { answer, api } from './api/client.ts';

/** Gives the person a file that the page made. */
export function saveFile(name: string, parts: BlobPart[], type: string): void {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Saves the archive of a workspace, or of a version. Fetched here and not by a link, so that a refusal is shown and not opened. */
export async function saveArchive(workspaceId: string, version = 'current'): Promise<void> {
  const { data, response } = await answer(api.GET('/v2/workspaces/{workspaceId}/versions/{name}/export', { params: { path: { workspaceId, name: version } }, parseAs: 'blob' }));
  const name = /filename="?([^";]+)/.exec(response.headers.get('content-disposition') ?? '')?.[1] ?? `${workspaceId}-${version}.zip`;
  saveFile(name, [data as unknown as Blob], 'application/zip');
}
