import { t } from './i18n.svelte.ts';
import { href } from './router.svelte.ts';

/** The address of a document of a workspace, by its path in the history: `automations/charge`. Undefined for what has no screen. */
export function objectHref(id: string, object: string): string | undefined {
  const [folder = '', ...rest] = object.split('/');
  const slug = rest.join('/');
  if (slug === '') return undefined;
  if (folder === 'automations') return href('automations', { id, slug });
  if (folder === 'pages') return href('pages', { id, slug });
  if (folder === 'tests') return href('tests', { id, slug });
  if (folder === 'knowledge') return href('knowledge', { id, slug }, { tab: 'settings' });
  if (folder === 'agents') return href('agents', { id, slug }, { tab: 'settings' });
  if (folder === 'imports') return href('apps', { id, slug });
  return undefined;
}

/** The name of a document without its folder; empty for the workspace itself. */
export function objectName(object: string): string {
  return object.includes('/') ? object.slice(object.indexOf('/') + 1) : '';
}

/** What an entry of the history did, in the language of the person; the words of the server where there are none. */
export function changeSentence(entry: { type: string; summary: string }): string {
  return (t.changes as Record<string, string>)[entry.type] ?? entry.summary;
}
