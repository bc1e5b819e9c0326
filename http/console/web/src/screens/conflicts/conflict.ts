import { answer, api, yamlBody, type Schema } from '../../lib/api/client.ts';
import type { Verdict } from '../../lib/editor/document.svelte.ts';

export type ConflictFile = Schema<'Conflicts'>['files'][number];

/** What is to become of a file. */
export type Decision = { use: 'ours' | 'theirs' } | { content: string | null };

/** A part of a merged text: what both sides agree on, or where they do not. */
export type Part = { text: string } | { ours: string; theirs: string };

/** Takes a text with conflict markers apart. */
export function partsOf(merged: string): Part[] {
  const parts: Part[] = [];
  let text = '';
  let sides: { ours: string; theirs: string } | undefined;
  let side: 'ours' | 'theirs' = 'ours';
  for (const line of merged.match(/[^\n]*\n|[^\n]+$/g) ?? []) {
    if (!sides && line.startsWith('<<<<<<< ')) {
      if (text) parts.push({ text });
      text = '';
      [sides, side] = [{ ours: '', theirs: '' }, 'ours'];
    } else if (sides && side === 'ours' && line.trimEnd() === '=======') side = 'theirs';
    else if (sides && side === 'theirs' && line.startsWith('>>>>>>> ')) {
      parts.push(sides);
      sides = undefined;
    } else if (sides) sides[side] += line;
    else text += line;
  }
  // Markers that do not end are text.
  if (sides) text += `<<<<<<< ours\n${sides.ours}${side === 'theirs' ? `=======\n${sides.theirs}` : ''}`;
  if (text) parts.push({ text });
  return parts;
}

export const isDifference = (part: Part): part is { ours: string; theirs: string } => 'ours' in part;

/** The text with one side for each difference. */
export function joinParts(parts: Part[], sides: ('ours' | 'theirs')[]): string {
  let n = 0;
  return parts.map((part) => (isDifference(part) ? part[sides[n++] ?? 'ours'] : part.text)).join('');
}

/** The text that a decision gives; null: the file is deleted. */
export function resultOf(file: ConflictFile, decision: Decision): string | null {
  if ('content' in decision) return decision.content;
  return file[decision.use]?.content ?? null;
}

/** A short text that is the same for the same conflict: earlier choices hold for files that have not changed. */
export function fingerprint(file: ConflictFile): string {
  let hash = 5381;
  for (const char of `${file.kind}\0${file.ours?.content ?? ''}\0${file.theirs?.content ?? ''}`) hash = ((hash * 33) ^ char.codePointAt(0)!) >>> 0;
  return hash.toString(36);
}

/** What the server finds wrong with a text that takes the place of a file: A2. Nothing is written. */
export async function checkText(workspaceId: string, path: string, text: string, isHere: boolean, signal: AbortSignal): Promise<Verdict> {
  const [folder = '', ...rest] = path.replace(/\.(ya?ml|json)$/, '').split('/');
  const slug = rest.join('/');
  const query = { dryRun: true };
  const body = { ...yamlBody(text), headers: { Accept: 'application/json', 'Content-Type': 'application/yaml' }, parseAs: 'json' as const, signal };
  const one = { params: { path: { workspaceId, slug }, query }, ...body };
  const all = { params: { path: { workspaceId }, query }, ...body };
  const call = {
    automations: () => (isHere ? api.PUT('/v2/workspaces/{workspaceId}/automations/{slug}', one) : api.POST('/v2/workspaces/{workspaceId}/automations', all)),
    pages: () => (isHere ? api.PUT('/v2/workspaces/{workspaceId}/pages/{slug}', one) : api.POST('/v2/workspaces/{workspaceId}/pages', all)),
    security: () => api.PUT('/v2/workspaces/{workspaceId}/security', all),
  }[folder];
  if (!call) return { errors: [], warnings: [] };
  const { data } = await answer(call() as Promise<{ data?: unknown; response: Response }>);
  return data as Verdict;
}
