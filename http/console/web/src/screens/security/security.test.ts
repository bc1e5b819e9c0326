import { expect, test } from 'vitest';
import { actionsOf, changesOf, contentOf, grantable, originOf, targetOf, type Rule } from './security.ts';

const rule = (action: string, subject = 'pages'): Rule => ({ action, subject });

test('reads the rows of a document', () => {
  expect(contentOf({ authorizations: { roles: { editor: {} }, rules: [rule('read'), 3] } })).toEqual({ roles: { editor: {} }, rules: [rule('read')] });
  expect(contentOf(null)).toEqual({ roles: {}, rules: [] });
  expect(contentOf('text')).toBeUndefined();
});

test('says which rows a change adds, changes, removes and moves', () => {
  const before = { roles: { editor: {}, old: {} }, rules: [rule('read'), rule('update'), rule('delete')] };
  expect(changesOf(before, { roles: { editor: { description: 'x' }, fresh: {} }, rules: [rule('read'), rule('create'), rule('delete'), rule('test')] })).toEqual({
    added: [rule('test')], removed: [], changed: [{ before: rule('update'), after: rule('create') }], reordered: false, rolesAdded: ['fresh'], rolesChanged: ['editor'], rolesRemoved: ['old'],
  });
  const moved = changesOf(before, { ...before, rules: [rule('delete'), rule('read'), rule('update')] });
  expect([moved.added, moved.removed, moved.changed, moved.reordered]).toEqual([[], [], [], true]);
  expect(changesOf(before, { ...before, rules: [rule('update'), rule('delete')] })).toMatchObject({ removed: [rule('read')], added: [], reordered: false });
});

test('an origin leads to its row', () => {
  expect(originOf('authorizations.rules[5]')).toEqual({ kind: 'rule', index: 5 });
  expect(originOf('share:role:guest')).toEqual({ kind: 'share', target: 'role:guest' });
  expect(originOf('builtIn:owner')).toEqual({ kind: 'builtIn', who: 'owner' });
  expect(originOf('none')).toEqual({ kind: 'none' });
  expect(targetOf({ target: { public: true }, permissions: {} })).toBe('*');
});

test('actions are those of the chosen subjects', () => {
  expect(actionsOf(['events'])).toEqual(['create', 'read', 'manage']);
  expect(actionsOf(['all'])).toContain('aggregate_search');
  expect(grantable((action, subject) => subject === 'files' && action !== 'delete')).toEqual({ files: ['create', 'read', 'update'] });
});
