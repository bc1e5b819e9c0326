import { untrack } from 'svelte';
import type { KeyId } from '../keys.ts';
import type { IconName } from './ui/icons.ts';

/** Something the palette can do or open. */
export interface PaletteEntry {
  id: string;
  label: string;
  /** Kind in words: "Screen", "Automation". */
  kind: string;
  /** Further words that find it, such as a slug. */
  words?: string;
  icon?: IconName;
  key?: KeyId;
  /** Keys shown at its right, where they are not in the table: `G A`. */
  hint?: string;
  /** Address below /console, or a function. */
  to?: string;
  run?: () => void;
  /** Right that is missing; shown, not run. */
  missing?: string;
}

const sources = $state<{ list: (() => PaletteEntry[])[] }>({ list: [] });

/** Adds entries while the component is there: actions and objects of a screen. */
export function usePalette(entries: () => PaletteEntry[]): void {
  $effect(() => {
    sources.list = [...untrack(() => sources.list), entries];
    return () => (sources.list = sources.list.filter((source) => source !== entries));
  });
}

export function paletteEntries(): PaletteEntry[] {
  return sources.list.flatMap((source) => source());
}

export const palette = $state({ open: false });

/**
 * How well a text matches what was typed: every letter in order; beginnings of words and runs
 * count more. 0 = no match. "chg" finds "charge".
 */
export function fuzzyScore(typed: string, text: string): number {
  const want = typed.toLowerCase().replace(/\s+/g, '');
  const have = text.toLowerCase();
  if (want === '') return 1;
  const whole = have.indexOf(typed.toLowerCase().trim());
  if (whole >= 0) return 1000 - Math.min(whole, 200) - Math.min(have.length, 200) / 10 + (whole === 0 || /[\s/._-]/.test(have[whole - 1]!) ? 200 : 0);
  let score = 0;
  let at = -1;
  for (const letter of want) {
    const next = have.indexOf(letter, at + 1);
    if (next < 0) return 0;
    score += next === at + 1 ? 8 : next === 0 || /[\s/._-]/.test(have[next - 1]!) ? 6 : 1;
    at = next;
  }
  return score + Math.max(0, 20 - have.length / 5);
}

const recentKey = 'svc-recent';

/** Ids of entries, last used first. */
export function recentEntries(): string[] {
  try {
    return JSON.parse(localStorage.getItem(recentKey) ?? '[]') as string[];
  } catch {
    return [];
  }
}

export function rememberEntry(id: string): void {
  try {
    localStorage.setItem(recentKey, JSON.stringify([id, ...recentEntries().filter((one) => one !== id)].slice(0, 20)));
  } catch {
    // Without storage nothing is recent.
  }
}
