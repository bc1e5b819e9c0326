import type { TypedField } from '../../lib/ui/typedfield.ts';

export type Row = Record<string, unknown> & { id: string };
/** A field as a collection declares it. */
export interface Property {
  type?: string;
  required?: boolean;
  enum?: unknown[];
  default?: unknown;
  [keyword: string]: unknown;
}
export type Properties = Record<string, Property>;

/** What the platform writes into every row itself. */
export const systemFields = ['id', '_id', 'createdAt', 'updatedAt', 'createdBy', 'updatedBy'];
export const isSystem = (name: string): boolean => systemFields.includes(name);

/** The fields of a table: the declared ones, else those that the rows have, the first ones first. */
export function columnsOf(properties: Properties, rows: Row[], most = 8): string[] {
  const declared = Object.keys(properties).filter((name) => !isSystem(name));
  if (declared.length > 0) return declared.slice(0, most);
  const seen = new Set<string>();
  for (const row of rows) for (const name of Object.keys(row)) if (!isSystem(name)) seen.add(name);
  return [...seen].slice(0, most);
}

const numeric = new Set(['number', 'double', 'float', 'integer']);

/** The kind of a column, declared or seen. */
export function kindOf(name: string, properties: Properties, rows: Row[]): 'number' | 'boolean' | 'text' | 'json' {
  const type = properties[name]?.type;
  if (type) return numeric.has(type) ? 'number' : type === 'boolean' ? 'boolean' : ['array', 'enumArray', 'json'].includes(type) ? 'json' : 'text';
  const value = rows.map((row) => row[name]).find((one) => one !== undefined && one !== null);
  return typeof value === 'number' ? 'number' : typeof value === 'boolean' ? 'boolean' : typeof value === 'object' ? 'json' : 'text';
}

const signs: Record<string, string> = { '>': '$gt', '>=': '$gte', '<': '$lt', '<=': '$lte', '!=': '$ne' };

/**
 * One condition out of what is typed above a column: `=x` is exactly that, `>5`, `!=a` compare, a
 * number is that number, other text is found anywhere, ignoring case. Empty: no condition.
 */
export function conditionOf(typed: string, kind: ReturnType<typeof kindOf>): unknown {
  const text = typed.trim();
  if (text === '') return undefined;
  const sign = /^(>=|<=|!=|>|<)\s*(.+)$/.exec(text);
  const plain = (value: string): unknown => {
    if (value === 'null') return null;
    if (kind === 'number' && value !== '' && Number.isFinite(Number(value))) return Number(value);
    if (kind === 'boolean' && (value === 'true' || value === 'false')) return value === 'true';
    return value;
  };
  if (sign) return { [signs[sign[1]!]!]: plain(sign[2]!) };
  if (text.startsWith('=')) return plain(text.slice(1).trim());
  const value = plain(text);
  if (typeof value !== 'string') return value;
  return { $regex: value.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), $options: 'i' };
}

/** The query of the conditions of all columns; undefined without any. */
export function queryOf(conditions: Record<string, string>, kind: (name: string) => ReturnType<typeof kindOf>): Record<string, unknown> | undefined {
  const entries = Object.entries(conditions).flatMap(([name, typed]) => {
    const condition = conditionOf(typed, kind(name));
    return condition === undefined ? [] : [[name, condition] as const];
  });
  return entries.length > 0 ? Object.fromEntries(entries) : undefined;
}

/** The form of a row, out of the declaration. */
export function schemaOf(properties: Properties): TypedField {
  const field = (property: Property): TypedField => {
    const { type, required, ...rest } = property;
    const base = { ...rest, required: required === true } as TypedField;
    switch (type) {
      case 'number': case 'double': case 'float':
        return { ...base, type: 'number' };
      case 'integer':
        return { ...base, type: 'integer' };
      case 'boolean':
        return { ...base, type: 'boolean' };
      case 'date':
        return { ...base, type: 'string', format: 'date' };
      case 'text': case 'uint8array': case 'blob':
        return { ...base, type: 'string', 'ui:widget': 'textarea' };
      case 'array': case 'enumArray': case 'json':
        return { title: base.title, description: base.description, required: base.required } as TypedField;
      default:
        return { ...base, type: 'string' };
    }
  };
  return { type: 'object', properties: Object.fromEntries(Object.entries(properties).filter(([name]) => !isSystem(name)).map(([name, property]) => [name, field(property)])) };
}

/** A row without what the platform writes itself. */
export function contentOf(row: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).filter(([name]) => !isSystem(name)));
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Ids of rows that are new or changed since the last read of the same page. */
export function changedRows(before: Row[], after: Row[]): string[] {
  const known = new Map(before.map((row) => [row.id, row]));
  return after.filter((row) => !same(known.get(row.id), row)).map((row) => row.id);
}
