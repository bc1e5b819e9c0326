import { answer, api, asApiError, type Schema } from '../../lib/api/client.ts';
import { t } from '../../lib/i18n.svelte.ts';
import { showToast } from '../../lib/toasts.svelte.ts';

export type KnowledgeDocument = Schema<'KnowledgeDocument'>;
export type Place = { workspaceId: string; slug: string };

export const statuses = ['pending', 'processing', 'ready', 'error'] as const;
export const sources = ['file', 'text', 'url', 'crawl'] as const;
export const statusKinds = { pending: 'plain', processing: 'info', ready: 'ok', error: 'danger' } as const;
export const statusIcons = { pending: 'clock', processing: 'refresh', ready: 'ok', error: 'error' } as const;
export const sourceIcons = { file: 'page', text: 'edit', url: 'link', crawl: 'language' } as const;

/** Words with commas between them, each once. */
export const wordsOf = (text: string): string[] => [...new Set(text.split(',').map((word) => word.trim()).filter(Boolean))];

/** What kept a document from being processed, and what to do about it. */
export function reasonText(reason: string): string {
  return (t.knowledge.reasons as Record<string, string>)[reason] ?? t.knowledge.reasonOther;
}

/** What was noticed while a document was processed; a word of the server that has no sentence stays as it is. */
export function warningText(warning: string): string {
  return (t.knowledge.warnings as Record<string, string>)[warning] ?? warning;
}

/** Whether what is typed as metadata can be sent: an object, or nothing; `typed` is text that may be no JSON yet. */
export function isMetadata(value: unknown, typed: string | undefined): boolean {
  try {
    if (typed?.trim()) JSON.parse(typed);
  } catch {
    return false;
  }
  return value === undefined || (typeof value === 'object' && value !== null && !Array.isArray(value));
}

/** A time as a field for local times takes it, and back. */
export const localTime = (iso: string | undefined): string => (iso ? new Date(Date.parse(iso) - new Date(iso).getTimezoneOffset() * 60_000).toISOString().slice(0, 16) : '');
export const isoTime = (local: string): string => new Date(local).toISOString();

/** The fields of a document as they are typed. */
export interface TypedFields {
  name: string;
  title: string;
  tags: string;
  language: string;
  expiresAt: string;
  metadata: unknown;
}

export const typedFieldsOf = (one: KnowledgeDocument): TypedFields => ({ name: one.name, title: one.title, tags: one.tags.join(', '), language: one.language, expiresAt: localTime(one.expiresAt), metadata: Object.keys(one.metadata).length > 0 ? one.metadata : undefined });

/** The fields that were changed, as a PATCH takes them: null removes one. */
export function changeOf(before: TypedFields, after: TypedFields): Schema<'KnowledgeDocumentChange'> {
  const change: Schema<'KnowledgeDocumentChange'> = {};
  if (after.name.trim() !== before.name) change.name = after.name.trim();
  if (after.title.trim() !== before.title) change.title = after.title.trim() || null;
  if (JSON.stringify(wordsOf(after.tags)) !== JSON.stringify(wordsOf(before.tags))) change.tags = wordsOf(after.tags);
  if (after.language !== before.language) change.language = after.language || null;
  if (after.expiresAt !== before.expiresAt) change.expiresAt = after.expiresAt ? isoTime(after.expiresAt) : null;
  if (JSON.stringify(after.metadata) !== JSON.stringify(before.metadata)) change.metadata = (after.metadata as Record<string, never> | undefined) ?? null;
  return change;
}

const route = '/v2/workspaces/{workspaceId}/knowledgeBases/{slug}/documents';

/** Has documents processed again, one after the other, and says how many; `fetch`: their addresses are loaded again. */
export async function reindexDocuments(place: Place, ids: string[], fetch = false): Promise<string> {
  let last = '';
  for (const id of ids) {
    try {
      last = (await answer(api.POST(`${route}/{id}/reindex`, { params: { path: { ...place, id } }, body: { fetch } }))).seq;
    } catch (error) {
      // One that somebody deleted meanwhile does not keep the others from being processed.
      if (ids.length === 1 || asApiError(error).status !== 404) throw error;
    }
  }
  showToast(t.knowledge.reindexed(ids.length));
  return last;
}

/** Deletes documents, and says how many. */
export async function deleteDocuments(place: Place, ids: string[]): Promise<string> {
  const { data, seq } = await answer(api.POST(`${route}/delete`, { params: { path: place }, body: { ids } }));
  showToast(t.knowledge.documentsDeleted(data.deleted));
  return seq;
}
