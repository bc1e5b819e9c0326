/** Puts a layer beside its anchor, inside of the window. Both are in the top layer or fixed. */
export function place(anchor: Element, layer: HTMLElement, align: 'start' | 'end' | 'center' = 'start', gap = 4): void {
  const from = anchor.getBoundingClientRect();
  const size = layer.getBoundingClientRect();
  const below = from.bottom + gap + size.height <= innerHeight || from.top < size.height + gap;
  const wanted = align === 'start' ? from.left : align === 'end' ? from.right - size.width : from.left + from.width / 2 - size.width / 2;
  layer.style.setProperty('left', `${Math.max(8, Math.min(wanted, innerWidth - size.width - 8))}px`);
  layer.style.setProperty('top', `${below ? Math.min(from.bottom + gap, innerHeight - size.height - 8) : from.top - gap - size.height}px`);
}
