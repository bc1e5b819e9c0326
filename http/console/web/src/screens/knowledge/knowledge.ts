import type { Schema } from '../../lib/api/client.ts';
import { i18n, localized, t } from '../../lib/i18n.svelte.ts';

export type Base = Schema<'KnowledgeBase'>;

/** The languages that texts are searched in (knowledge 11.2). */
export const languages = ['ar', 'ckb', 'cjk', 'da', 'de', 'en', 'es', 'fa', 'fi', 'fr', 'hi', 'hr', 'hu', 'it', 'nl', 'no', 'pl', 'pt', 'ro', 'ru', 'sv', 'tr'];

/** A language in the words of the person: "French", "cjk" and the unknown one in ours. */
export function languageName(code: string): string {
  if (code === 'auto') return t.knowledge.languageAuto;
  if (code === 'und' || code === '') return t.knowledge.languageUnknown;
  if (code === 'cjk') return t.knowledge.languageCjk;
  try {
    const name = new Intl.DisplayNames([i18n.language], { type: 'language' }).of(code) ?? code;
    return name.slice(0, 1).toLocaleUpperCase(i18n.language) + name.slice(1);
  } catch {
    return code;
  }
}

/** The languages by their names, sorted in the language of the person. */
export const sortedLanguages = (): string[] => [...languages].sort((a, b) => languageName(a).localeCompare(languageName(b), i18n.language));

export function titleOf(base: { name?: unknown; slug: string }): string {
  return localized(base.name) || base.slug;
}

/** The bases of a workspace that was read at an earlier moment. */
export function basesOf(workspace: Schema<'Workspace'> | undefined): Base[] {
  return Object.values((workspace?.knowledgeBases ?? {}) as unknown as Record<string, Base>).sort((a, b) => titleOf(a).localeCompare(titleOf(b)));
}
