import type { CoreMessages, Messages } from '../messages/en/index.ts';

export const languages = { en: 'English', fr: 'Français' } as const;
export type Language = keyof typeof languages;

const cores: Record<Language, () => Promise<{ default: CoreMessages }>> = {
  en: () => import('../messages/en/index.ts'),
  fr: () => import('../messages/fr/index.ts'),
};
/** Namespaces of single screens, by file. Those of the core come with index.ts. */
const screens = import.meta.glob<object>(['../messages/*/*.ts', '!../messages/*/{index,axis,changes,common,diff,editor,errors,form,graph,imported,keys,shell,signin,states}.ts'], { import: 'default' });
const wanted = new Set<string>();

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

async function loadNamespaces(language: Language, names: Iterable<string>): Promise<Partial<Messages>> {
  const loaded = await Promise.all(
    [...names].map(async (name) => [name, await screens[`../messages/${language}/${name}.ts`]?.()] as const),
  );
  return Object.fromEntries(loaded.filter(([, messages]) => messages !== undefined));
}

/** Loads the messages of a screen, by the name of its route, in the language that is shown. */
export async function loadMessages(name: string): Promise<void> {
  if (wanted.has(name) && name in i18n.messages) return;
  wanted.add(name);
  const language = i18n.language;
  const loaded = await loadNamespaces(language, [name]);
  // Another language was chosen meanwhile: it brings this namespace with it.
  if (language === i18n.language) i18n.messages = { ...i18n.messages, ...loaded };
}

/** Loads a language, with the namespaces of the screens that were open, and shows it. */
export async function useLanguage(language: Language): Promise<void> {
  const [{ default: core }, loaded] = await Promise.all([cores[language](), loadNamespaces(language, wanted)]);
  i18n.messages = { ...core, ...loaded } as Messages;
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
