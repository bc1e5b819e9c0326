import { apiBase } from './page.ts';

/** The real address of a page. Where pages have hosts of their own, it leads there. */
export function pageAddress(workspaceSlug: string, slug: string): string {
  const path = slug === 'index' ? '' : slug.split('/').map(encodeURIComponent).join('/');
  return new URL(`${apiBase}/pages/${encodeURIComponent(workspaceSlug)}/${path}`, location.href).href;
}
