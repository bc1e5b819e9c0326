/** A typed field: JSON Schema with the markers of api 6.3. Forms of runs, config, apps and blocks are made of it. */
export interface TypedField {
  type?: string | string[];
  title?: unknown;
  description?: unknown;
  default?: unknown;
  enum?: unknown[];
  /** What the choices are called, where not as they are. */
  enumNames?: string[];
  const?: unknown;
  oneOf?: TypedField[];
  anyOf?: TypedField[];
  properties?: Record<string, TypedField>;
  items?: TypedField;
  additionalProperties?: boolean | TypedField;
  /** A list inside of an object; true on an argument. */
  required?: boolean | string[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  format?: string;
  minItems?: number;
  maxItems?: number;
  secret?: boolean;
  redact?: boolean;
  'ui:widget'?: string;
  'ui:options'?: Record<string, unknown>;
}

/** What to draw for a field. */
export type Widget = 'text' | 'textarea' | 'number' | 'boolean' | 'select' | 'radio' | 'date' | 'color' | 'secret' | 'upload' | 'object' | 'list' | 'localized' | 'oneOf' | 'json';

export function widgetOf(field: TypedField): Widget {
  const type = Array.isArray(field.type) ? field.type.find((one) => one !== 'null') : field.type;
  if (field.enum) return field['ui:widget'] === 'radio' ? 'radio' : 'select';
  if (variantsOf(field).length > 1) return 'oneOf';
  if (type?.startsWith('localized:')) return 'localized';
  if (field.secret || field['ui:widget'] === 'password') return 'secret';
  const widget = field['ui:widget'];
  if (widget === 'textarea' || widget === 'date' || widget === 'color' || widget === 'upload') return widget;
  if (type === 'string') return field.format === 'date' ? 'date' : 'text';
  if (type === 'number' || type === 'integer') return 'number';
  if (type === 'boolean') return 'boolean';
  if (type === 'object') return field.properties && Object.keys(field.properties).length > 0 ? 'object' : 'json';
  if (type === 'array') return 'list';
  return 'json';
}

/** The shapes that a value may have, where there are several. */
export function variantsOf(field: TypedField): TypedField[] {
  return field.oneOf ?? field.anyOf ?? [];
}

/** Which of the shapes a value has, by its type; 0 when none fits. */
export function variantOf(field: TypedField, value: unknown): number {
  if (value === undefined) return 0;
  const type = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value;
  const at = variantsOf(field).findIndex((one) => (one.const !== undefined ? one.const === value : one.type === type || (one.type === 'integer' && type === 'number')));
  return Math.max(0, at);
}

/** The value a new field begins with: its default, else nothing, but lists and objects that must exist. */
export function initialValue(field: TypedField): unknown {
  if (field.default !== undefined) return structuredClone(field.default);
  if (field.const !== undefined) return field.const;
  switch (widgetOf(field)) {
    case 'object':
      return Object.fromEntries(Object.entries(field.properties ?? {}).flatMap(([name, child]) => {
        const value = initialValue(child);
        return value === undefined ? [] : [[name, value]];
      }));
    case 'oneOf':
      return initialValue(variantsOf(field)[0]!);
    default:
      return undefined;
  }
}

export function isRequired(parent: TypedField, name: string): boolean {
  const child = parent.properties?.[name];
  return (Array.isArray(parent.required) && parent.required.includes(name)) || child?.required === true;
}

/** Key of a message in t.form with its numbers; the server checks again and has the last word. */
export type Fault = { key: 'required' | 'number' | 'integer' | 'min' | 'max' | 'minLength' | 'maxLength' | 'pattern' | 'email' | 'json'; value?: number };

/** The first thing wrong with a value, by what its field says. */
export function faultOf(field: TypedField, value: unknown, required: boolean): Fault | undefined {
  if (value === undefined || value === '' || value === null) return required ? { key: 'required' } : undefined;
  const type = Array.isArray(field.type) ? field.type[0] : field.type;
  if (type === 'number' || type === 'integer') {
    if (typeof value !== 'number' || Number.isNaN(value)) return { key: 'number' };
    if (type === 'integer' && !Number.isInteger(value)) return { key: 'integer' };
    if (field.minimum !== undefined && value < field.minimum) return { key: 'min', value: field.minimum };
    if (field.maximum !== undefined && value > field.maximum) return { key: 'max', value: field.maximum };
  }
  if (typeof value === 'string') {
    if (field.minLength !== undefined && value.length < field.minLength) return { key: 'minLength', value: field.minLength };
    if (field.maxLength !== undefined && value.length > field.maxLength) return { key: 'maxLength', value: field.maxLength };
    if (field.format === 'email' && !/^[^\s@]+@[^\s@]+$/.test(value)) return { key: 'email' };
    if (field.pattern !== undefined) {
      try {
        if (!new RegExp(field.pattern, 'u').test(value)) return { key: 'pattern' };
      } catch {
        // An expression of another dialect: the server judges.
      }
    }
  }
  return undefined;
}

/** Every fault of an object by path (`address.city`, `tags[0]`), in the order of its fields. */
export function allFaults(field: TypedField, value: unknown, path = '', required = false): [path: string, fault: Fault][] {
  const own = faultOf(field, value, required);
  if (own) return [[path, own]];
  if (value === undefined || value === null) return [];
  const widget = widgetOf(field);
  if (widget === 'object' && typeof value === 'object') {
    return Object.entries(field.properties ?? {}).flatMap(([name, child]) =>
      allFaults(child, (value as Record<string, unknown>)[name], path ? `${path}.${name}` : name, isRequired(field, name)),
    );
  }
  if (widget === 'list' && Array.isArray(value)) {
    return value.flatMap((item, i) => allFaults(field.items ?? {}, item, `${path}[${i}]`));
  }
  return [];
}

/** A value without the fields that are marked secret: what may stay in this browser. */
export function withoutSecrets<T>(value: T, field: TypedField | undefined): T {
  if (!field || value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map((one) => withoutSecrets(one, field.items)) as T;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, child]) => {
      const below = field.properties?.[name];
      return below && widgetOf(below) === 'secret' ? [] : [[name, withoutSecrets(child, below)]];
    }),
  ) as T;
}

/** Whether a field, or one below it, is marked secret. */
export function hasSecrets(field: TypedField | undefined): boolean {
  if (!field) return false;
  return widgetOf(field) === 'secret' || hasSecrets(field.items) || Object.values(field.properties ?? {}).some(hasSecrets);
}
