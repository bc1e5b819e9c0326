import { expect, test } from 'vitest';
import { changedRows, columnsOf, conditionOf, queryOf, schemaOf } from './rows.ts';

test('what is typed above a column becomes a condition', () => {
  expect(conditionOf('', 'text')).toBeUndefined();
  expect(conditionOf('a.b', 'text')).toEqual({ $regex: 'a\\.b', $options: 'i' });
  expect(conditionOf('=Ada', 'text')).toBe('Ada');
  expect(conditionOf('5', 'number')).toBe(5);
  expect(conditionOf('>= 5', 'number')).toEqual({ $gte: 5 });
  expect(conditionOf('true', 'boolean')).toBe(true);
  expect(conditionOf('!=x', 'text')).toEqual({ $ne: 'x' });
  expect(queryOf({ a: '1', b: ' ' }, () => 'number')).toEqual({ a: 1 });
  expect(queryOf({ b: '' }, () => 'text')).toBeUndefined();
});

test('columns are those of the declaration, else of the rows, without the platform’s own', () => {
  expect(columnsOf({ b: {}, a: {} }, [{ id: '1', c: 1 }])).toEqual(['b', 'a']);
  expect(columnsOf({}, [{ id: '1', createdAt: 'x', c: 1 }, { id: '2', d: 1 }])).toEqual(['c', 'd']);
});

test('a declaration gives a form', () => {
  expect(schemaOf({ n: { type: 'integer', required: true }, d: { type: 'date' }, e: { type: 'enum', enum: ['a'] }, j: { type: 'json' } }).properties).toMatchObject({
    n: { type: 'integer', required: true }, d: { type: 'string', format: 'date' }, e: { type: 'string', enum: ['a'] },
  });
});

test('rows that are new or changed are known', () => {
  expect(changedRows([{ id: '1', a: 1 }, { id: '2', a: 1 }], [{ id: '1', a: 2 }, { id: '2', a: 1 }, { id: '3' }])).toEqual(['1', '3']);
});
