import type { EditorHelp } from '../../lib/editor/help.ts';
import { schemaHelp, type JsonSchema } from '../../lib/editor/schemahelp.ts';
import type { Path } from '../../lib/editor/yamloutline.ts';
import type { BlockKind } from './catalogue.ts';

/** The path of the schema for a place: a block inside of another is a block as those of the page are. */
export function schemaPath(path: Path): Path {
  for (let at = path.length - 1; at > 0; at--) {
    if (typeof path[at] === 'number' && ['blocks', 'content', 'block'].includes(String(path[at - 1]))) return ['blocks', 0, ...path.slice(at + 1)];
  }
  return path;
}

/** Completion of a page or an own block: fields by its schema, kinds of blocks by what exists. */
export function pageHelp(schema: () => JsonSchema | undefined, kinds: () => BlockKind[]): EditorHelp {
  const isKind = (path: Path): boolean => path.length > 1 && path[path.length - 1] === 'slug';
  return schemaHelp(schema, { pathOf: schemaPath, values: (path) => (isKind(path) ? kinds().map((one) => ({ label: one.kind, info: one.text || undefined })) : undefined) });
}
