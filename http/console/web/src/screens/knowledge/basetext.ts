import { answer, api, asYaml, yamlBody } from '../../lib/api/client.ts';
import type { StoredText } from '../../lib/editor/document.svelte.ts';
import type { OpenWorkspace } from '../../lib/workspace.svelte.ts';

export const route = '/v2/workspaces/{workspaceId}/knowledgeBases/{slug}';

/** The text of a base as it is stored. */
export async function readBase(workspace: OpenWorkspace, slug: string, minSeq: string, signal?: AbortSignal): Promise<StoredText> {
  const { data, etag } = await answer(api.GET(route, { params: { path: { workspaceId: workspace.id, slug }, query: workspace.moment }, ...asYaml, headers: { ...asYaml.headers, ...(minSeq ? { 'x-svc-min-seq': minSeq } : {}) }, signal }));
  return { text: String(data), etag };
}

/** Writes the text of a base if nobody else did since `etag`. */
export async function writeBase(workspace: OpenWorkspace, slug: string, text: string, etag: string): Promise<StoredText & { seq: string }> {
  const { data, etag: next, seq } = await answer(api.PATCH(route, { params: { path: { workspaceId: workspace.id, slug } }, ...yamlBody(text, { ifMatch: etag }) }));
  return { text: String(data), etag: next, seq };
}

/** Puts a source into a base, or takes one away, and leaves all else as it is stored. Returns the position of the write. */
export async function writeSource(workspace: OpenWorkspace, slug: string, id: string, source: Record<string, unknown> | undefined): Promise<string> {
  const [{ changeYaml, yamlValue }, stored] = await Promise.all([import('../../lib/editor/yamledit.ts'), readBase(workspace, slug, '')]);
  const sources = ((yamlValue(stored.text) as Record<string, unknown>).sources ?? {}) as Record<string, unknown>;
  const isLast = source === undefined && Object.keys(sources).length === 1 && id in sources;
  const text = changeYaml(stored.text, isLast ? ['sources'] : ['sources', id], isLast ? sources : sources[id], source);
  return (await writeBase(workspace, slug, text, stored.etag)).seq;
}
