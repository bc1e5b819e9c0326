/** Slugs that the server keeps for itself (api 1.7). */
const reserved = new Set(['platform', 'export', 'import', 'labels', 'readiness']);
const longest = 60;

/**
 * The slug that a name suggests: small letters, digits and dashes, letters without their marks.
 * Empty when nothing of the name can stand in one; the server makes one up then.
 */
export function slugFromName(name: string): string {
  const slug = name
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/ß/g, 'ss')
    .replace(/æ/g, 'ae')
    .replace(/œ/g, 'oe')
    .replace(/ø/g, 'o')
    .replace(/['’]/g, '')
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, longest)
    .replace(/^-+|-+$/g, '');
  return reserved.has(slug) ? `${slug}-1` : slug;
}

/** Whether a slug that was typed can be one. */
export function isSlug(slug: string): boolean {
  return slug.length > 0 && slug.length <= longest && !reserved.has(slug) && slug.split('/').every((part) => /^[a-z0-9-]+$/.test(part));
}

/** The next slug to try when one is taken: `shop`, `shop-2`, `shop-3`. */
export function nextSlug(slug: string, attempt: number): string {
  const tail = `-${attempt + 1}`;
  return slug.slice(0, longest - tail.length) + tail;
}
