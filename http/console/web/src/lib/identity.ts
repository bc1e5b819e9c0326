/* Names and slugs of documents, and how they stand in their text. */

/** A name that no other has: `crm`, `crm-2`. */
export function freeSlug(wanted: string, taken: readonly string[]): string {
  if (!taken.includes(wanted)) return wanted;
  for (let n = 2; ; n++) if (!taken.includes(`${wanted}-${n}`)) return `${wanted}-${n}`;
}

/** What the server makes of a name without a slug, so that the address is seen while typing. */
export function slugOf(name: string): string {
  return (name.split('/').pop() ?? '').normalize('NFD').replace(/[\u0300-\u036f]/g, '').replace(/[^A-Za-z0-9 _-]/g, '').trim().replace(/\s+/g, '-').toLowerCase().slice(0, 60);
}

/** A YAML scalar of a text. */
export function yamlText(text: string): string {
  return /^[A-Za-z][\w /.-]*$/.test(text) && !/^(true|false|yes|no|on|off|null)$/i.test(text) ? text : `'${text.replace(/'/g, "''")}'`;
}

/** The document with another slug and name; the text is edited, never parsed, so that everything else stays as it is. */
export function withIdentity(text: string, slug: string, name: string): string {
  const rest = text
    .replace(/^slug:.*\n/m, '')
    .replace(/^name:(?:[ \t]+\S.*)?\n(?:[ \t]+.*\n)*/m, '');
  return `slug: ${yamlText(slug)}\nname: ${yamlText(name)}\n${rest}`;
}

/** The slug that a document in its canonical form begins with. */
export function slugInText(text: string): string {
  const written = /^slug:[ \t]*(.*)$/m.exec(text)?.[1]?.trim() ?? '';
  if (/^".*"$/.test(written)) return JSON.parse(written) as string;
  return /^'.*'$/.test(written) ? written.slice(1, -1).replace(/''/g, "'") : written;
}
