import type { Messages } from '../messages/en/index.ts';

export const languages = { en: 'English', fr: 'Français' } as const;
export type Language = keyof typeof languages;

const loaders: Record<Language, () => Promise<{ default: Messages }>> = {
  en: () => import('../messages/en/index.ts'),
  fr: () => import('../messages/fr/index.ts'),
};

class I18n {
  language = $state<Language>('en');
  messages = $state.raw<Messages>(undefined as unknown as Messages);
}
export const i18n = new I18n();

/**
 * The messages of the current language: `t.shell.signOut`, `t.activity.newEvents(12)`. Reading
 * one in a template follows the language.
 */
export const t: Messages = new Proxy({} as Messages, {
  get: (_, namespace: keyof Messages) => i18n.messages[namespace],
});

/** The language to use: that of the user, else of the browser, else English. */
export function chooseLanguage(ofUser: string | undefined, ofBrowser: readonly string[]): Language {
  for (const wish of [ofUser ?? '', ...ofBrowser]) {
    const language = wish.toLowerCase().split('-')[0]!;
    if (language in languages) return language as Language;
  }
  return 'en';
}

/** Loads a language and shows it. */
export async function useLanguage(language: Language): Promise<void> {
  const { default: messages } = await loaders[language]();
  i18n.messages = messages;
  i18n.language = language;
  if (typeof document !== 'undefined') document.documentElement.lang = language;
}

const pluralRules = new Map<string, Intl.PluralRules>();

/** The form for a number: `plural('fr', n, { one: '1 fichier', other: `${n} fichiers` })`. */
export function plural(language: Language, n: number, forms: { one: string; other: string }): string {
  let rules = pluralRules.get(language);
  if (!rules) pluralRules.set(language, (rules = new Intl.PluralRules(language)));
  return rules.select(n) === 'one' ? forms.one : forms.other;
}

/** The text of a localized value of the API (text, or a map by language). */
export function localized(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value && typeof value === 'object') {
    const map = value as Record<string, unknown>;
    const text = map[i18n.language] ?? map.en ?? Object.values(map)[0];
    return typeof text === 'string' ? text : '';
  }
  return '';
}
