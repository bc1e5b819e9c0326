import type { Resource } from '../../lib/resource.svelte.ts';

/**
 * Reads again from time to time while the page is looked at: attempts to deliver are in no feed that could be followed.
 * Call it while a component is set up.
 */
export function refreshEvery(ms: () => number, resource: Resource<unknown>): void {
  $effect(() => {
    const timer = setInterval(() => {
      // What is refused stays refused; a server that does not answer may answer later.
      const refused = resource.error !== undefined && resource.error.status >= 400 && resource.error.status < 500;
      if (!document.hidden && !resource.reading && !refused) resource.reload();
    }, ms());
    return () => clearInterval(timer);
  });
}
