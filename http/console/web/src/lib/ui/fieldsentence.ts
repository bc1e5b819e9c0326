import type { FieldFault } from '../api/errors.ts';
import { i18n, t } from '../i18n.svelte.ts';

/** What the server's words about a field come to, in the words of every language. */
const known: [RegExp, (found: number[]) => string][] = [
  [/^(is )?required$|must not be empty|^is empty$/, () => t.form.required],
  [/(\d+) to (\d+) characters/, ([least, most]) => t.form.lengthBetween(least!, most!)],
  [/at most (\d+) characters/, ([most]) => t.form.maxLength(most!)],
  [/at least (\d+) characters/, ([least]) => t.form.minLength(least!)],
  [/from (-?\d+) to (-?\d+)$/, ([least, most]) => t.form.between(least!, most!)],
  [/in the future/, () => t.form.future],
  [/used already|already (used|exists)/, () => t.form.used],
  [/reserved/, () => t.form.reserved],
];

/**
 * A fault of a field as its form shows it. The server speaks English: in another language the
 * sentence is ours, and its own words go to the details of the field (`words` of Field).
 */
export function fieldSentence({ message }: FieldFault): string {
  for (const [pattern, sentence] of known) {
    const found = pattern.exec(message);
    if (found) return sentence(found.slice(1).map(Number));
  }
  return i18n.language === 'en' ? `${message.slice(0, 1).toUpperCase()}${message.slice(1).replace(/\.$/, '')}.` : t.form.refused;
}
