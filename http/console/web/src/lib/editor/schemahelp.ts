import type { EditorHelp, Proposal } from './help.ts';
import { contextAt, type CaretContext, type Path } from './yamloutline.ts';

/** A JSON Schema, as far as an editor reads it. */
export interface JsonSchema {
  $ref?: string;
  $defs?: Record<string, JsonSchema>;
  type?: string | string[];
  title?: string;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  examples?: unknown[];
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  properties?: Record<string, JsonSchema>;
  additionalProperties?: boolean | JsonSchema;
  items?: JsonSchema;
  required?: string[];
  readOnly?: boolean;
}

/** The schema without references and alternatives: every shape that a value may have. */
export function shapesOf(root: JsonSchema, node: JsonSchema | undefined, depth = 0): JsonSchema[] {
  if (!node || depth > 8) return [];
  if (node.$ref) {
    const target = root.$defs?.[node.$ref.replace('#/$defs/', '')];
    return shapesOf(root, target && { ...target, description: node.description ?? target.description }, depth + 1);
  }
  const variants = node.anyOf ?? node.oneOf;
  if (!variants) return [node];
  return variants.flatMap((variant) => shapesOf(root, variant, depth + 1)).map((shape) => ({ ...shape, description: shape.description ?? node.description, default: shape.default ?? node.default }));
}

/** The shapes of what stands at a path. */
export function shapesAt(root: JsonSchema, path: Path): JsonSchema[] {
  let shapes = shapesOf(root, root);
  for (const part of path) {
    shapes = shapes.flatMap((shape) => shapesOf(root, typeof part === 'number' ? shape.items : propertyOf(shape, part)));
  }
  return shapes;
}

function propertyOf(shape: JsonSchema, name: string): JsonSchema | undefined {
  return shape.properties?.[name] ?? (typeof shape.additionalProperties === 'object' ? shape.additionalProperties : undefined);
}

/** What is said of a key: its own text before that of its type. */
export function describe(root: JsonSchema, path: Path): { schema: JsonSchema; required: boolean } | undefined {
  const name = path[path.length - 1];
  if (typeof name !== 'string') return undefined;
  for (const shape of shapesAt(root, path.slice(0, -1))) {
    const node = propertyOf(shape, name);
    if (!node) continue;
    const described = node.description ?? shapesOf(root, node)[0]?.description;
    return { schema: { ...node, description: described, default: node.default ?? shapesOf(root, node)[0]?.default }, required: shape.required?.includes(name) ?? false };
  }
  return undefined;
}

const isListOf = (shape: JsonSchema): boolean => shape.items !== undefined || (Array.isArray(shape.type) ? shape.type.includes('array') : shape.type === 'array');
const isObject = (shape: JsonSchema): boolean => shape.properties !== undefined || shape.additionalProperties !== undefined || (Array.isArray(shape.type) ? shape.type.includes('object') : shape.type === 'object');

/**
 * The value of a new key as text to go on typing in: nothing for a scalar, a first line below it
 * for an object or a list. `indent` is that of the key.
 */
export function valueSkeleton(root: JsonSchema, node: JsonSchema, indent: string, optional: string[] = []): string {
  const shapes = shapesOf(root, node);
  const object = shapes.find((shape) => shape.properties);
  if (object && !shapes.some((shape) => shape.type === 'string' && !shape.properties)) return objectSkeleton(root, object, indent, optional);
  if (object) {
    const wanted = [...(object.required ?? []), ...optional];
    return wanted.length > 0 ? objectSkeleton(root, object, indent, optional) : ` \${}`;
  }
  if (shapes.some(isListOf) && !shapes.some((shape) => shape.type === 'string')) return `\n${indent}  - \${}`;
  if (shapes.length > 0 && shapes.every(isObject)) return `\n${indent}  \${}`;
  return ' ${}';
}

function objectSkeleton(root: JsonSchema, shape: JsonSchema, indent: string, optional: string[]): string {
  const names = [...new Set([...(shape.required ?? []), ...optional])].filter((name) => shape.properties?.[name]);
  if (names.length === 0) return `\n${indent}  \${}`;
  return names.map((name) => `\n${indent}  ${name}:${valueSkeleton(root, shape.properties![name]!, `${indent}  `)}`).join('');
}

/** The keys that may be added at the caret. */
export function keyProposals(root: JsonSchema, context: CaretContext, optional: (key: string) => string[] = () => []): Proposal[] {
  const seen = new Set(context.keys);
  const proposals: Proposal[] = [];
  for (const shape of shapesAt(root, context.path)) {
    for (const [name, node] of Object.entries(shape.properties ?? {})) {
      if (seen.has(name) || node.readOnly) continue;
      seen.add(name);
      const required = shape.required?.includes(name) ?? false;
      const described = describe(root, [...context.path, name])?.schema;
      proposals.push({
        label: name,
        detail: required ? '*' : undefined,
        info: infoOf(described),
        insert: context.flow ? `${name}: \${}` : `${name}:${valueSkeleton(root, node, '', optional(name))}`,
        boost: required ? 20 : 0,
      });
    }
  }
  return proposals;
}

export function infoOf(schema: JsonSchema | undefined): string | undefined {
  if (!schema) return undefined;
  const parts = [schema.description ?? ''];
  if (schema.default !== undefined && schema.default !== null) parts.push(`= ${typeof schema.default === 'string' ? schema.default : JSON.stringify(schema.default)}`);
  const choices = schema.enum ?? schema.anyOf?.flatMap((one) => one.enum ?? []) ?? [];
  const named = choices.filter((choice) => choice !== null);
  if (named.length > 0) parts.push(named.join(', '));
  return parts.filter(Boolean).join('\n') || undefined;
}

/** The values that a schema names: choices, examples, true and false. */
export function valueProposals(root: JsonSchema, path: Path): Proposal[] {
  const seen = new Set<string>();
  return shapesAt(root, path).flatMap((shape) => {
    const values = [...(shape.enum ?? shape.examples ?? [])];
    if ((Array.isArray(shape.type) ? shape.type : [shape.type]).includes('boolean')) values.push(true, false);
    return values.flatMap((value) => {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      if (value === null || seen.has(text)) return [];
      seen.add(text);
      return [{ label: text, info: shape.description, detail: shape.default === value ? '=' : undefined }];
    });
  });
}

/**
 * Completion of a document by its schema alone. `pathOf`: the place in the schema of one in the document;
 * `values`: what is proposed as a value there instead.
 */
export function schemaHelp(schema: () => JsonSchema | undefined, { pathOf = (path: Path) => path, values }: { pathOf?: (path: Path) => Path; values?: (path: Path) => Proposal[] | undefined } = {}): EditorHelp {
  return {
    complete: (text, position, explicit) => {
      const context = contextAt(text, position);
      const root = schema();
      if (!context || !root) return undefined;
      const path = pathOf(context.path);
      const proposals = context.kind === 'key' ? keyProposals(root, { ...context, path }) : (values?.(path) ?? valueProposals(root, path));
      if (proposals.length === 0 || (!explicit && context.kind === 'key' && context.typed === '' && !context.item)) return undefined;
      return { from: context.from, proposals, word: /^[\w$./ -]*$/ };
    },
  };
}
