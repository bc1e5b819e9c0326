import { goKeys, keys, type KeyId } from '../keys.ts';
import { preferences } from './preferences.svelte.ts';
import { t } from './i18n.svelte.ts';

type Handler = (event: KeyboardEvent) => void;

const bound = new Map<KeyId, Handler[]>();
/** Ids that something on the page is bound to now; for the shortcuts dialog. */
const active = $state<{ ids: KeyId[] }>({ ids: [] });
let goTo: (letter: string) => boolean = () => false;
let pendingG = 0;

export const isMac = typeof navigator !== 'undefined' && /Mac|iPhone|iPad/.test(navigator.platform);

/** Binds keys of the table while the component is there. What was bound last goes first. */
export function useKeys(handlers: Partial<Record<KeyId, Handler>>): void {
  $effect(() => {
    for (const [id, handler] of Object.entries(handlers) as [KeyId, Handler][]) bound.set(id, [...(bound.get(id) ?? []), handler]);
    active.ids = [...bound.keys()];
    return () => {
      for (const [id, handler] of Object.entries(handlers) as [KeyId, Handler][]) {
        const left = (bound.get(id) ?? []).filter((one) => one !== handler);
        if (left.length > 0) bound.set(id, left);
        else bound.delete(id);
      }
      active.ids = [...bound.keys()];
    };
  });
}

export function activeKeys(): KeyId[] {
  return active.ids;
}

/** Whether an event is the keys of a text such as `mod+shift+k`. */
export function isPressed(event: KeyboardEvent, combination: string): boolean {
  const parts = combination.split('+');
  const key = parts.pop()!;
  const mod = isMac ? event.metaKey : event.ctrlKey;
  const other = isMac ? event.ctrlKey : event.metaKey;
  if (mod !== parts.includes('mod') || other || event.altKey !== parts.includes('alt')) return false;
  const isLetter = /^[a-z]$/.test(key);
  // A sign such as ? needs Shift on some keyboards and not on others.
  if ((isLetter || key.length > 1) && event.shiftKey !== parts.includes('shift')) return false;
  return isLetter ? event.key.toLowerCase() === key : event.key === key;
}

/** The key as it is printed: `Ctrl K`, `⌘ K`, `Esc`. */
export function keyLabel(combination: string): string {
  return combination
    .split('+')
    .map((part) => (part === 'mod' ? (isMac ? '⌘' : 'Ctrl') : part === 'shift' ? 'Shift' : part === 'Escape' ? 'Esc' : part.length === 1 ? part.toUpperCase() : part))
    .join(' ');
}

export function keyName(id: KeyId): string {
  return t.keys[id];
}

function isTyping(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  if (!element?.closest) return false;
  if (element.isContentEditable) return true;
  const input = element.closest('input, textarea, select');
  return input !== null && !(input instanceof HTMLInputElement && /^(checkbox|radio|button|submit|range)$/.test(input.type));
}

let listening = false;

/** Listens for the keys of the table; `go` opens the screen of a letter after `g`. Called by each frame of the shell. */
export function startKeys(go: (letter: string) => boolean): void {
  goTo = go;
  if (listening) return;
  listening = true;
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    const typing = isTyping(event.composedPath()[0] ?? null);
    const inDialog = document.querySelector('dialog[open]') !== null;
    const bare = !event.ctrlKey && !event.metaKey && !event.altKey;
    const singlesOff = typing || !preferences.singleKeys || inDialog;
    if (bare && !singlesOff && pendingG && Date.now() - pendingG < 1500) {
      pendingG = 0;
      if (goTo(event.key.toLowerCase())) return event.preventDefault();
    }
    pendingG = 0;
    if (bare && !singlesOff && event.key === 'g' && !event.shiftKey) {
      pendingG = Date.now();
      return;
    }
    for (const [id, handlers] of bound) {
      const combination = keys[id];
      if (!isPressed(event, combination)) continue;
      const single = /^(shift\+)?.$/.test(combination); // types a letter, too
      if (single && singlesOff) continue;
      // Enter and Escape belong to the field or the dialog that has the focus.
      if (id === 'open' && (typing || isOperable(event.target))) continue;
      if (id === 'close' && (inDialog || document.querySelector('[popover="auto"]:popover-open'))) continue;
      event.preventDefault();
      handlers[handlers.length - 1]!(event);
      return;
    }
  });
}

function isOperable(target: EventTarget | null): boolean {
  return (target as Element | null)?.closest?.('a, button, summary, [role="menuitem"], [role="tab"], [role="option"]') !== null;
}

export function goKeyOf(route: string): string | undefined {
  return goKeys[route];
}
