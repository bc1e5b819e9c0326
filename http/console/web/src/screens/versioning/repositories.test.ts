import { expect, test } from 'vitest';
import type { Workspace } from '../../lib/workspace.svelte.ts';
import { canPull, canPush, defaultRepository, idFromName, isReference, isSSH, isVersionName, nextVersionName, repositoriesOf } from './repositories.ts';

const workspace = {
  repositories: { origin: { name: 'Origin', config: { url: 'https://git.example/shop.git' } }, drop: { name: 'Drop', type: 'archive' } },
  platformRepositories: { main: { name: 'Main', type: 'git', mode: 'read-only', config: {}, groups: [] }, origin: { name: 'Hidden', type: 'git', mode: 'read-write', config: {}, groups: [] } },
} as unknown as Workspace;

test('own repositories hide those of the platform with the same id', () => {
  expect(repositoriesOf(workspace).map((one) => [one.id, one.name, one.ofPlatform])).toEqual([['origin', 'Origin', false], ['drop', 'Drop', false], ['main', 'Main', true]]);
  expect(repositoriesOf(undefined)).toEqual([]);
  expect(repositoriesOf(workspace).map((one) => [canPush(one), canPull(one)])).toEqual([[true, true], [false, false], [false, true]]);
});

test('the repository last used is the default', () => {
  expect(defaultRepository(workspace, '')).toBe('origin');
  expect(defaultRepository(workspace, 'main')).toBe('main');
  expect(defaultRepository(workspace, 'drop')).toBe('origin');
  const used = { ...workspace, lastPush: { repositoryId: 'origin', createdAt: '2026-01-01' }, lastPull: { repositoryId: 'main', createdAt: '2026-01-02' } } as unknown as Workspace;
  expect(defaultRepository(used, '')).toBe('main');
});

test('names of versions', () => {
  expect(['v1.2.0', 'a', '2026-11'].every(isVersionName)).toBe(true);
  expect(['', 'current', 'a..b', '.a', 'a.lock', 'a b'].some(isVersionName)).toBe(false);
  expect([nextVersionName('v1.2.9'), nextVersionName('release'), nextVersionName('20261112-101010-ab12cd'), nextVersionName(undefined), nextVersionName('v2-rc1')]).toEqual(['v1.2.10', '', '', '', 'v2-rc2']);
});

test('addresses and references', () => {
  expect([isSSH('git@host:a.git'), isSSH('ssh://git@host/a'), isSSH('https://host/a')]).toEqual([true, true, false]);
  expect([isReference('{{secret.TOKEN}}'), isReference('hunter2'), isReference('a{{secret.B}}')]).toEqual([true, false, false]);
  expect([idFromName('My Repository', []), idFromName('Origin', ['origin']), idFromName('…', [])]).toEqual(['my-repository', 'origin-2', 'origin']);
});
