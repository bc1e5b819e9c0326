import { createSubscriber } from 'svelte/reactivity';

/** A media query that can be read in templates: `const narrow = mediaQuery('(max-width: 639px)'); narrow.matches`. */
export function mediaQuery(query: string): { readonly matches: boolean } {
  const list = matchMedia(query);
  const subscribe = createSubscriber((update) => {
    list.addEventListener('change', update);
    return () => list.removeEventListener('change', update);
  });
  return {
    get matches() {
      subscribe();
      return list.matches;
    },
  };
}
