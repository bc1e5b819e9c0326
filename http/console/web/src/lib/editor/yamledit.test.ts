import { expect, test } from 'vitest';
import { changedParts, changeYaml, moveInYaml, orStored, withRemovals, yamlPart, yamlValue } from './yamledit.ts';

const text = `schema:
  b:
    type: string
  '10':
    type: number
  a:
    type: array
    items:
      type: string
value:
  b: '{{secret.key}}'
  '10': 3
  a:
    - one
`;

test('a change of one value leaves the rest of the text as it is', () => {
  const value = (yamlValue(text) as { value: Record<string, unknown> }).value;
  expect(changeYaml(text, ['value'], value, { ...value, 10: 4 })).toBe(text.replace("'10': 3", "'10': 4"));
  expect(changeYaml(text, ['value'], value, { ...value, a: ['one', 'two'] })).toBe(`${text}    - two\n`);
  const { b: _, ...rest } = value;
  expect(changeYaml(text, ['value'], value, rest)).toBe(text.replace("  b: '{{secret.key}}'\n", ''));
});

test('what was empty gets lines of its own', () => {
  expect(changeYaml('{}\n', ['secrets', 'schema', 'key'], undefined, { type: 'string' })).toBe('secrets:\n  schema:\n    key:\n      type: string\n');
  expect(changeYaml('', ['a'], undefined, 1)).toBe('a: 1\n');
  expect(changeYaml('value: {}\n', ['value'], {}, { a: 1 })).toBe('value:\n  a: 1\n');
});

test('text that is no YAML has no value', () => {
  expect(yamlValue('a: [')).toBeUndefined();
});

test('a part is sent alone', () => {
  expect(yamlPart('name: Shop\nsecrets:\n  schema:\n    b: {}\n    "1": {}\n', 'secrets')).toBe('secrets:\n  schema:\n    b: {}\n    "1": {}\n');
  expect(yamlPart('name: Shop\n', 'secrets')).toBe('secrets: null\n');
});

test('parts that are gone are removed, behind all lines', () => {
  expect(withRemovals('value:\n  a: 1\n', 'schema: {}\nvalue:\n  a: 1\n')).toBe('value:\n  a: 1\nschema: null\n');
  expect(withRemovals('{}', 'value:\n  a: 1\n')).toBe('{ value: null }\n');
  expect(withRemovals('', 'value: 1\n')).toBe('\nvalue: null\n');
  expect(withRemovals('value: [', 'schema: {}\n')).toBe('value: [');
  expect(withRemovals('value: 1\n', 'value: 2\n')).toBe('value: 1\n');
});

test('an entry of a list is moved, added and removed as a whole', () => {
  const list = 'rules:\n  - action: a\n    conditions:\n      b: 1\n      "1": 2\n  - action: c\n';
  expect(moveInYaml(list, ['rules'], 0, 1)).toBe('rules:\n  - action: c\n  - action: a\n    conditions:\n      b: 1\n      "1": 2\n');
  expect(changeYaml(list, ['rules', 2], undefined, { action: 'd' })).toBe(`${list}  - action: d\n`);
  expect(changeYaml(list, ['rules', 0], { action: 'a' }, undefined)).toBe('rules:\n  - action: c\n');
  expect(changeYaml('rules: []\n', ['rules', 0], undefined, { action: 'd' })).toBe('rules:\n  - action: d\n');
});

test('only the parts that changed are sent', () => {
  expect(changedParts('name: Shop\nlabels:\n  - a\n', 'name: Store\nlabels:\n  - a\nphoto: /x\n')).toBe('name: Shop\nphoto: null\n');
  expect(changedParts('name: [', 'name: Store\n')).toBe('name: [');
  expect(orStored('name:   Shop\n', 'name: Shop\n')).toBe('name: Shop\n');
});
