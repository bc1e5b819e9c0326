import { expect, test } from 'vitest';
import { conditionsOf } from '../../lib/conditions.ts';
import { byDocument, payloadFor, schemaOf, type Problem } from './waits.ts';

test('filters are read as words, and give a payload that fits', () => {
  const filters = { 'payload.order': 2, 'payload.customer.name': 'Ada', 'payload.total': { $gt: 5, $lt: 9 }, 'payload.kind': { $in: ['a', 'b'] }, 'source.userId': 'x', $or: [{ a: 1 }] };
  expect(conditionsOf(filters)).toEqual(['payload.order = 2', 'payload.customer.name = Ada', 'payload.total > 5', 'payload.total < 9', 'payload.kind ∈ ["a","b"]', 'source.userId = x', '$or [{"a":1}]']);
  expect(payloadFor(filters)).toEqual({ order: 2, customer: { name: 'Ada' }, kind: 'a' });
  expect(payloadFor({ 'payload.__proto__.x': 1 })).toEqual({});
  expect(conditionsOf(undefined)).toEqual([]);
});

test('a declared event has a form', () => {
  expect(schemaOf({ types: { a: { schema: { by: { type: 'string' } } } } }, 'a')).toEqual({ type: 'object', properties: { by: { type: 'string' } } });
  expect(schemaOf({ types: { a: { schema: { type: 'object', properties: { by: { type: 'string' } } } } } }, 'a')?.properties).toHaveProperty('by');
  expect(schemaOf({ types: {} }, 'toString')).toBeUndefined();
});

test('documents with errors come first, errors before warnings, then by line', () => {
  const problem = (object: string, severity: Problem['severity'], line?: number): Problem => ({ object, severity, line, field: 'do[0]', message: 'm' });
  const groups = byDocument([problem('automations/a', 'warning', 3), problem('automations/b', 'warning', 9), problem('automations/b', 'error', 12), problem('automations/b', 'error', 2)]);
  expect(groups.map((group) => [group.object, group.errors, group.problems.map((one) => one.line)])).toEqual([['automations/b', 2, [2, 12, 9]], ['automations/a', 0, [3]]]);
});
