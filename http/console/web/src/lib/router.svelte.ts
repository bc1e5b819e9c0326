import { untrack, type Component } from 'svelte';
import { loadMessages } from './i18n.svelte.ts';
import { base } from './page.ts';
import { fillPath, matchPath, toQuery, type Params, type QueryValue } from './path.ts';
import { routes, type Route, type RouteName } from '../routes.ts';

/** A screen's chunk: its component is the default export. */
export type Screen = Component<Record<string, never>>;

function here(): URL {
  return new URL(location.href);
}

/** Path below /console, beginning with a slash. */
function pathOf(url: URL): string {
  return url.pathname.startsWith(base) ? url.pathname.slice(base.length) || '/' : url.pathname;
}

const loads = new Map<RouteName, Promise<{ default: Screen }>>();

function load(route: Route): Promise<{ default: Screen }> {
  let promise = loads.get(route.name);
  if (!promise) {
    // The messages of a screen come with it.
    promise = Promise.all([route.load(), loadMessages(route.messages ?? route.name)]).then(([chunk]) => chunk);
    loads.set(route.name, promise);
    // A chunk that did not load is asked for again the next time.
    promise.catch(() => loads.delete(route.name));
  }
  return promise;
}

class Router {
  /** Path below /console. */
  path = $state('/');
  query = $state.raw(new URLSearchParams());
  /** Fragment without `#`. */
  fragment = $state('');
  readonly match = $derived.by(() => {
    for (const route of routes) {
      const params = matchPath(route.pattern, this.path);
      if (params) return { route, params };
    }
    return undefined;
  });
  /** Grows with each navigation to another screen or object; the shell moves the focus then. */
  visits = $state(0);

  /** Begins to follow the address bar and the links of the page. */
  start(): void {
    this.readLocation();
    addEventListener('popstate', () => {
      const before = this.path;
      this.readLocation();
      if (before !== this.path) this.visits++;
    });
    document.addEventListener('click', (event) => {
      if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
      const link = (event.target as Element).closest?.('a');
      if (!link || link.target || link.hasAttribute('download')) return;
      const url = new URL(link.href, location.href);
      if (!isInside(url)) return;
      event.preventDefault();
      this.go(url.pathname.slice(base.length) + url.search + url.hash);
    });
    const prefetchLink = (event: Event): void => {
      const link = (event.target as Element).closest?.('a');
      if (link && isInside(new URL(link.href, location.href))) prefetch(new URL(link.href, location.href).pathname.slice(base.length));
    };
    document.addEventListener('pointerover', prefetchLink, { passive: true });
    document.addEventListener('focusin', prefetchLink);
  }

  /** Opens an address below /console, such as one made by href(). */
  go(to: string, options: { replace?: boolean } = {}): void {
    const before = this.path;
    const url = new URL(base + to, location.origin);
    if (options.replace) history.replaceState(null, '', url);
    else if (url.href !== location.href) history.pushState(null, '', url);
    this.readLocation();
    if (before !== this.path) {
      this.visits++;
      scrollTo(0, 0);
    }
  }

  /** Changes some parameters of the query; undefined removes one. Typing in a filter should replace, choosing should not. */
  setQuery(values: Record<string, QueryValue>, options: { replace?: boolean } = {}): void {
    const kept: Record<string, QueryValue> = {};
    for (const name of new Set(this.query.keys())) {
      const all = this.query.getAll(name);
      kept[name] = all.length > 1 ? all : all[0] === '' ? true : all[0];
    }
    this.go(this.path + toQuery({ ...kept, ...values }) + (this.fragment ? `#${this.fragment}` : ''), options);
  }

  /** Address below /console with query and fragment. */
  get address(): string {
    const query = this.query.toString();
    return this.path + (query ? location.search : '') + location.hash;
  }

  private readLocation(): void {
    const url = here();
    this.path = pathOf(url);
    if (untrack(() => this.query.toString()) !== url.searchParams.toString()) this.query = url.searchParams;
    this.fragment = url.hash.slice(1);
  }

  /** Loads the chunk of the current screen. */
  load(route: Route): Promise<{ default: Screen }> {
    return load(route);
  }
}

export const router = new Router();

/** Whether an address is one of the console's own screens. */
function isInside(url: URL): boolean {
  return url.origin === location.origin && (url.pathname === base || url.pathname.startsWith(`${base}/`)) && !url.pathname.startsWith(`${base}/assets/`);
}

/** The address of a route, for `href`: with the base, so that it can be copied and opened in another tab. */
export function href(name: RouteName, params: Params = {}, query: Record<string, QueryValue> = {}): string {
  return base + to(name, params, query);
}

/** The address of a route below /console, for router.go. An earlier moment that is shown stays, on screens of the same workspace that can show it. */
export function to(name: RouteName, params: Params = {}, query: Record<string, QueryValue> = {}): string {
  const route = routes.find((one) => one.name === name)!;
  const at = route.past === true && params.id !== undefined && params.id === router.match?.params.id ? (router.query.get('at') ?? undefined) : undefined;
  return fillPath(route.pattern, params) + toQuery({ at, ...query });
}

/** Fetches the chunk of a screen before it is opened. */
export function prefetch(path: string): void {
  const route = routes.find((one) => matchPath(one.pattern, path));
  if (route) void load(route).catch(() => {});
}

/**
 * One parameter of the query as a value that can be read and set:
 *
 *     const tab = queryParam('tab', 'run');
 *     {tab.value}  tab.value = 'runs'
 */
export function queryParam(name: string, otherwise = '', options: { replace?: boolean } = {}) {
  return {
    get value(): string {
      return router.query.get(name) ?? otherwise;
    },
    set value(value: string) {
      router.setQuery({ [name]: value === otherwise ? undefined : value }, options);
    },
  };
}

/** An address of this console only: anything else becomes the start. */
export function safeNext(next: string | null): string {
  if (!next || !next.startsWith('/') || next.startsWith('//') || next.includes('\\')) return '/';
  const url = new URL(base + next, location.origin);
  return isInside(url) ? url.pathname.slice(base.length) + url.search + url.hash : '/';
}
