import { untrack } from 'svelte';
import { answer, api, yamlBody } from '../../lib/api/client.ts';
import { EditedDocument, useDocument, type Verdict } from '../../lib/editor/document.svelte.ts';
import type { OpenWorkspace } from '../../lib/workspace.svelte.ts';
import { readBase, route, writeBase } from './basetext.ts';

/** Opens the document of a base while a component is set up: its settings and its sources are views of it, with one draft. */
export function useBaseDocument(workspace: OpenWorkspace, slug: string, past: boolean, onsaved: (seq: string) => void): EditedDocument {
  const doc = new EditedDocument({
    draft: `${untrack(() => workspace.id)}/knowledge/${slug}`,
    read: (minSeq, signal) => readBase(workspace, slug, minSeq, signal),
    check: async (text, signal) => {
      if (past || !workspace.can('update', 'knowledgeBases').allowed || text.trim() === '') return { errors: [], warnings: [] };
      const { data } = await answer(api.PATCH(route, { params: { path: { workspaceId: workspace.id, slug }, query: { dryRun: true } }, ...yamlBody(text), headers: { Accept: 'application/json', 'Content-Type': 'application/yaml' }, parseAs: 'json', signal }));
      return data as unknown as Verdict;
    },
    write: async (text, etag) => {
      const written = await writeBase(workspace, slug, text, etag);
      onsaved(written.seq);
      return written;
    },
  });
  useDocument(doc, {
    isReady: () => workspace.can('read', 'knowledgeBases').allowed,
    workspaceId: () => workspace.id,
    types: ['workspaces.knowledgeBases.*', 'workspaces.restored', 'workspaces.imported'],
    isAbout: ({ payload }) => [payload.slug ?? slug, payload.oldSlug].includes(slug),
    isDeletion: ({ type }) => type === 'workspaces.knowledgeBases.deleted',
    past,
  });
  return doc;
}
