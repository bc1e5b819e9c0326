/**
 * Lets the keyboard scroll an element that is larger than its room and has nothing that takes the
 * focus, for `{@attach scrollable}`.
 */
export function scrollable(element: HTMLElement): () => void {
  const update = (): void => {
    const needed = (element.scrollHeight > element.clientHeight || element.scrollWidth > element.clientWidth) && !element.querySelector('a[href], button, input, select, textarea, summary, [tabindex]');
    if (needed) element.tabIndex = 0;
    else element.removeAttribute('tabindex');
  };
  const sizes = new ResizeObserver(update);
  sizes.observe(element);
  const content = new MutationObserver(update);
  content.observe(element, { childList: true, subtree: true });
  update();
  return () => {
    sizes.disconnect();
    content.disconnect();
  };
}
