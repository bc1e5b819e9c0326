import { answer, api, asYaml, yamlBody, type Schema } from '../../lib/api/client.ts';
import { localized, t } from '../../lib/i18n.svelte.ts';
import { slugInText, withIdentity } from '../../lib/identity.ts';
import { showUndo } from '../../lib/toasts.svelte.ts';
import type { OpenWorkspace } from '../../lib/workspace.svelte.ts';

export type PageMeta = Schema<'PageMeta'>;

/** The pages of a workspace read, by name. */
export function pagesOf(workspace: Schema<'Workspace'> | undefined): PageMeta[] {
  return Object.values((workspace?.pages ?? {}) as unknown as Record<string, PageMeta>).sort((a, b) => titleOf(a).localeCompare(titleOf(b)));
}

export function titleOf(page: { name?: unknown; slug: string }): string {
  return localized(page.name) || page.slug;
}

/** Why nothing can be written now; undefined when it can. */
export function whyReadOnly(workspace: OpenWorkspace): string | undefined {
  return workspace.at !== undefined ? t.states.pastReason : workspace.readOnly ? t.states.lockedReason : undefined;
}

/** The text of a page without what follows from its sharing: that is changed there, not by editing, and is no change of the text. */
export function shownText(text: string): string {
  return text.replace(/^public: \w+\n/m, '');
}

const route = '/v2/workspaces/{workspaceId}/pages/{slug}';

/* What can be done with a whole page. Refusals are thrown. */

export async function createPage(workspaceId: string, text: string): Promise<string> {
  const { data, seq } = await answer(api.POST('/v2/workspaces/{workspaceId}/pages', { params: { path: { workspaceId } }, ...yamlBody(text) }));
  showUndo(t.pages.created, workspaceId, seq);
  return slugInText(String(data));
}

export async function deletePage(workspaceId: string, slug: string, after: () => void = () => {}): Promise<void> {
  const { seq } = await answer(api.DELETE(route, { params: { path: { workspaceId, slug } } }));
  showUndo(t.pages.deleted(slug), workspaceId, seq, after);
}

/** A second one with the same text, under another slug and name. */
export async function duplicatePage(workspaceId: string, slug: string, next: string, name: string): Promise<string> {
  const { data } = await answer(api.GET(route, { params: { path: { workspaceId, slug } }, ...asYaml }));
  return createPage(workspaceId, withIdentity(String(data), next, name));
}

/** Makes an own block that shows something. */
export async function createBlock(workspaceId: string, slug: string): Promise<void> {
  const text = "config:\n  title: Untitled\nblocks:\n  - slug: RichText\n    content: '## {{title}}'\n";
  const { seq } = await answer(api.PUT('/v2/workspaces/{workspaceId}/blocks/{slug}', { params: { path: { workspaceId, slug } }, ...yamlBody(text) }));
  showUndo(t.pages.blockCreated(slug), workspaceId, seq);
}

/** Texts to begin a page with. */
export const examples = {
  blank: 'blocks: []\n',
  landing: 'blocks:\n  - slug: Header\n    title: Garden shop\n  - slug: Hero\n    title: Everything for your garden\n    lead: Seeds and tools, delivered within two days.\n  - slug: Cards\n    cards:\n      - title: Seeds\n        description: For every season\n      - title: Tools\n        description: That last\n  - slug: Footer\n    content: Garden shop, Example Street 1\n',
  form: 'blocks:\n  - slug: Header\n    title: Write to us\n  - slug: Form\n    onSubmit: message.sent\n    submitLabel: Send\n    schema:\n      type: object\n      required:\n        - text\n      properties:\n        name:\n          type: string\n          title: Name\n        text:\n          type: string\n          title: Message\n          ui:widget: textarea\n  - slug: Toast\n    toastOn: message.received\n',
} as const;
export type ExampleId = keyof typeof examples;
