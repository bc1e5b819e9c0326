import type { Schema } from '../../lib/api/client.ts';

export type StoredFile = Schema<'File'>;

/** How a file can be looked at here. Other types are never opened inline. */
export function previewOf(file: Pick<StoredFile, 'mimetype'>): 'image' | 'text' | 'pdf' | 'none' {
  const type = file.mimetype.split(';')[0]!.trim().toLowerCase();
  if (/^image\/(png|jpeg|gif|webp|avif|bmp)$/.test(type)) return 'image';
  if (type === 'text/plain') return 'text';
  return type === 'application/pdf' ? 'pdf' : 'none';
}

/** The address of a file on this server; empty when it is another one, of which nothing is loaded. */
export function ownAddress(url: string, origin: string): string {
  const address = new URL(url, origin);
  return address.origin === origin ? address.pathname + address.search : '';
}

/** Seconds that a share link can hold. */
export const shareTimes = [3600, 86_400, 604_800, 2_592_000] as const;

/**
 * Whether files of a type are taken, by the patterns of the settings. A type that the browser does not know is left
 * to the server, which looks at the bytes. SVG can run scripts: `image/*` does not include it.
 */
export function isTaken(type: string, { allowed, forbidden }: { allowed: string[]; forbidden: string[] }): boolean {
  const name = type.split(';')[0]!.trim().toLowerCase();
  if (name === '') return true;
  const fits = (pattern: string): boolean => pattern === name || pattern === '*/*' || (pattern.endsWith('/*') && name.startsWith(pattern.slice(0, -1)));
  return !forbidden.some(fits) && (allowed.length === 0 || allowed.some((pattern) => fits(pattern) && (name !== 'image/svg+xml' || pattern !== 'image/*')));
}
