import type { Schema } from '../../lib/api/client.ts';
import type { TypedField } from '../../lib/ui/typedfield.ts';

/** What a config document says, as far as its form reads it. */
export interface ConfigContent {
  schema: Record<string, TypedField>;
  value: Record<string, unknown>;
}

const asObject = (value: unknown): Record<string, unknown> => (value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : {});

/** The content of a config; undefined while its text is no mapping. */
export function contentOf(parsed: unknown): ConfigContent | undefined {
  if (parsed === undefined || (parsed !== null && (typeof parsed !== 'object' || Array.isArray(parsed)))) return undefined;
  const config = asObject(parsed);
  return { schema: asObject(config.schema) as Record<string, TypedField>, value: asObject(config.value) };
}

/**
 * The form of a config: its declared fields, then values without a declaration as JSON. A field that is
 * marked secret takes a reference, chosen among the secrets that are known.
 */
export function formOf({ schema, value }: ConfigContent, secrets: string[]): TypedField {
  const properties: Record<string, TypedField> = {};
  for (const [name, field] of Object.entries(schema)) {
    const declared = asObject(field) as TypedField;
    if (!declared.secret || secrets.length === 0) properties[name] = { ...declared, secret: undefined };
    else {
      const choices = secrets.map((one) => `{{secret.${one}}}`);
      const now = value[name];
      properties[name] = { ...declared, secret: undefined, enum: typeof now === 'string' && now !== '' && !choices.includes(now) ? [now, ...choices] : choices };
    }
  }
  for (const name of Object.keys(value)) properties[name] ??= {};
  return { type: 'object', properties };
}

/** The secrets that a value refers to, in its order, each once. */
export function referencesIn(value: unknown): string[] {
  const names = new Set<string>();
  const look = (one: unknown): void => {
    if (typeof one === 'string') for (const found of one.matchAll(/\{\{\s*secret\.([A-Za-z0-9_.-]{1,100})\s*\}\}/g)) names.add(found[1]!);
    else if (one !== null && typeof one === 'object') Object.values(one).forEach(look);
  };
  look(value);
  return [...names];
}

/** A secret with all that is known of it. */
export interface SecretRow {
  name: string;
  description: string;
  declared: boolean;
  /** `given`: it has no value of its own here and is not missed: the operator of the service gives one. */
  state: 'set' | 'missing' | 'given';
  updatedAt?: string;
  updatedBy?: string;
}

/** Secrets by name: those with a value, those that are declared, and those that are used without a value. */
export function secretRows(stored: Record<string, Schema<'Secret'>>, declared: Record<string, { description?: string }>, missing: ReadonlySet<string>): SecretRow[] {
  const names = new Set([...Object.keys(stored), ...Object.keys(declared), ...missing]);
  return [...names].sort((a, b) => a.localeCompare(b)).map((name) => ({
    name,
    description: stored[name]?.description || declared[name]?.description || '',
    declared: name in declared,
    state: name in stored ? 'set' : missing.has(name) ? 'missing' : 'given',
    updatedAt: stored[name]?.updatedAt,
    updatedBy: stored[name]?.updatedBy,
  }));
}

/** Text to begin a config with. */
export const example = `schema:
  currency:
    type: string
    title: Currency
    enum:
      - EUR
      - USD
  paymentKey:
    type: string
    title: Key of the payment service
    secret: true
value:
  currency: EUR
  paymentKey: '{{secret.payment_key}}'
`;
