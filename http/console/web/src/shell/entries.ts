import { goKeys } from '../keys.ts';
import { languages, localized, t, useLanguage, type Language } from '../lib/i18n.svelte.ts';
import type { PaletteEntry } from '../lib/palette.svelte.ts';
import { preferences, showLook } from '../lib/preferences.svelte.ts';
import { router, to } from '../lib/router.svelte.ts';
import { session } from '../lib/session.svelte.ts';
import { answer, api } from '../lib/api/client.ts';
import { showErrorToast } from '../lib/toasts.svelte.ts';
import type { OpenWorkspace } from '../lib/workspace.svelte.ts';
import { routes } from '../routes.ts';

/** Whether the caller sees a screen in the menu. */
export function isInMenu(route: (typeof routes)[number], workspace: OpenWorkspace | undefined): boolean {
  if (!route.menu) return false;
  if (workspace?.resource.error && !workspace.data) return false;
  if (route.menu.ofPlatform) return workspace ? workspace.id === 'platform' && workspace.can(...route.menu.right!).allowed : session.isSuper;
  if (route.area === 'workspace') {
    const right = workspace?.can(...(route.menu.right ?? ['read', 'workspaces']));
    return right !== undefined && (right.allowed || right.unknown === true);
  }
  return !workspace;
}

export function setScheme(scheme: typeof preferences.scheme): void {
  session.savePreferences({ scheme }).catch(showErrorToast);
}

export async function setLanguage(language: Language): Promise<void> {
  await useLanguage(language);
  showLook(language);
  try {
    const { data } = await answer(api.PATCH('/v2/user', { body: { language } }));
    if (session.me) session.me = { ...session.me, ...data };
  } catch (error) {
    showErrorToast(error);
  }
}

export async function signOut(): Promise<void> {
  try {
    await session.signOut();
    router.go('/sign-in');
  } catch (error) {
    showErrorToast(error);
  }
}

/** Screens and what can be done anywhere. */
export function shellEntries(workspace: OpenWorkspace | undefined, showShortcuts: () => void): PaletteEntry[] {
  const screens = routes
    .filter((route) => (route.area === 'workspace' ? isInMenu(route, workspace) : route.area === 'top' && (!route.menu?.ofPlatform || session.isSuper || isInMenu(route, workspace))))
    .map((route): PaletteEntry => ({
      id: `screen/${route.name}`,
      label: route.title(t),
      kind: t.shell.kinds.screen,
      icon: route.menu?.icon ?? 'right',
      to: to(route.name, workspace ? { id: workspace.id } : {}),
      hint: route.area === 'workspace' && goKeys[route.name] ? `G ${goKeys[route.name]!.toUpperCase()}` : undefined,
    }));
  const action = (id: string, label: string, icon: PaletteEntry['icon'], run: () => void): PaletteEntry => ({ id: `action/${id}`, label, kind: t.shell.kinds.action, icon, run });
  return [
    ...screens,
    ...(['system', 'light', 'dark'] as const).map((scheme) => action(`scheme-${scheme}`, t.shell.schemes[scheme], 'sun', () => setScheme(scheme))),
    ...(Object.keys(languages) as Language[]).map((language) => action(`language-${language}`, t.shell.languageIs(languages[language]), 'language', () => void setLanguage(language))),
    { ...action('shortcuts', t.shell.shortcuts, 'keyboard', showShortcuts), key: 'shortcuts' },
    action('docs', t.shell.apiReference, 'external', () => window.open('/docs', '_blank', 'noopener')),
    action('sign-out', t.shell.signOut, 'exit', () => void signOut()),
  ];
}

/** Objects of the open workspace, from the read that the frame has anyway. */
export function workspaceEntries(workspace: OpenWorkspace): PaletteEntry[] {
  const data = workspace.data;
  if (!data) return [];
  const entries: PaletteEntry[] = [];
  for (const [slug, automation] of Object.entries(data.automations ?? {})) {
    entries.push({ id: `automation/${data.id}/${slug}`, label: localized((automation as { name?: unknown }).name) || slug, words: slug, kind: t.shell.kinds.automation, icon: 'automation', to: to('automations', { id: data.id, slug }) });
  }
  for (const [slug, page] of Object.entries(data.pages ?? {})) {
    entries.push({ id: `page/${data.id}/${slug}`, label: localized((page as { name?: unknown }).name) || slug, words: slug, kind: t.shell.kinds.page, icon: 'page', to: to('pages', { id: data.id, slug }) });
  }
  return entries;
}
