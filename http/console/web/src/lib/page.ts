/** What the server wrote into the page at its start. */
function meta(name: string): string {
  if (typeof document === 'undefined') return '';
  return document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? '';
}

/** Address before `/v2`; empty for the origin of the page. */
export const apiBase = meta('svc-api-base').replace(/\/(v2\/?)?$/, '');
/** Largest upload in bytes. */
export const uploadMax = Number(meta('svc-upload-max')) || 10_000_000;
/** Types of files that are taken, as patterns (`image/*`), and those that are not; no allowed ones: all. */
const patterns = (name: string): string[] => meta(name).toLowerCase().split(',').filter(Boolean);
export const uploadTypes = { allowed: patterns('svc-upload-allowed'), forbidden: patterns('svc-upload-forbidden') };
/** Largest archive of an import in bytes. */
export const importMax = Number(meta('svc-import-max')) || 50_000_000;
/** Build of the files that this page uses. */
export const buildId = meta('svc-build');
/** Path under which the console is served, without a slash at its end. */
export const base = import.meta.env.BASE_URL.replace(/\/$/, '');
