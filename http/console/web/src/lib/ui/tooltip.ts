import type { Attachment } from 'svelte/attachments';
import { place } from './place.ts';

let layer: HTMLElement | undefined;
let owner: Element | undefined;

function show(anchor: Element, text: string): void {
  // Below a dialog that has opened meanwhile nothing can be used, and the menu of a button is not covered.
  const modal = document.querySelector('dialog:modal');
  if (!anchor.isConnected || (modal && !modal.contains(anchor)) || anchor.getAttribute('aria-expanded') === 'true') return;
  if (!layer) {
    layer = document.createElement('div');
    layer.className = 'tooltip';
    layer.popover = 'manual';
    // Its text is the accessible name or description of its anchor already.
    layer.setAttribute('aria-hidden', 'true');
  }
  // Inside of an open dialog, so that it is not inert and lies above it.
  (anchor.closest('dialog') ?? document.body).append(layer);
  owner = anchor;
  layer.textContent = text;
  layer.showPopover();
  place(anchor, layer, 'center', 6);
}

function hide(anchor: Element): void {
  if (owner !== anchor) return;
  owner = undefined;
  if (layer?.matches(':popover-open')) layer.hidePopover();
}

/** Shows a text beside the element on hover and on keyboard focus. Give the element the same text as name or description. */
export function tooltip(text: string | undefined): Attachment<HTMLElement> {
  return (element) => {
    if (!text) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const later = (): void => {
      timer = setTimeout(() => show(element, text), 400);
    };
    // Not while another layer is being opened or closed, which often moves the focus.
    const now = (): void => {
      timer = setTimeout(() => element.matches(':focus-visible') && show(element, text), 100);
    };
    const away = (): void => {
      clearTimeout(timer);
      hide(element);
    };
    const escape = (event: KeyboardEvent): void => {
      if (event.key === 'Escape' && owner === element) away();
    };
    element.addEventListener('pointerenter', later);
    element.addEventListener('focus', now);
    for (const type of ['pointerleave', 'blur', 'click']) element.addEventListener(type, away);
    element.addEventListener('keydown', escape);
    return () => {
      away();
      element.removeEventListener('pointerenter', later);
      element.removeEventListener('focus', now);
      for (const type of ['pointerleave', 'blur', 'click']) element.removeEventListener(type, away);
      element.removeEventListener('keydown', escape);
    };
  };
}
