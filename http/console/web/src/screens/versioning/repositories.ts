import type { Workspace } from '../../lib/workspace.svelte.ts';

/** A repository as the workspace has it (versioning 2.1). */
export interface Repository {
  name: string;
  type?: 'git' | 'archive' | 'filesystem';
  mode?: 'read-write' | 'read-only' | 'write-only';
  config?: {
    url?: string;
    branch?: string;
    dirpath?: string;
    auth?: { user?: string; password?: string; sshkey?: string; passphrase?: string };
    caBundle?: string;
    knownHosts?: string;
    redirectHosts?: string[];
  };
  /** `required`: the tests of the workspace must pass before it is pushed there. */
  checks?: 'required';
  pull?: { exclude?: { path: string }[] };
}

export interface ListedRepository extends Repository {
  id: string;
  /** Given by administrators: it is only read here. */
  ofPlatform: boolean;
}

/** The mask that credentials are read as; written back it keeps them. */
export const mask = '********';

export function repositoriesOf(workspace: Workspace | undefined): ListedRepository[] {
  const own = Object.entries((workspace?.repositories ?? {}) as Record<string, Repository>).map(([id, one]) => ({ ...one, id, ofPlatform: false }));
  const platform = Object.entries((workspace?.platformRepositories ?? {}) as Record<string, Repository>)
    .filter(([id]) => !own.some((one) => one.id === id))
    .map(([id, one]) => ({ ...one, id, ofPlatform: true }));
  return [...own, ...platform];
}

/** Those that content is pushed to and pulled from. */
export const isRemote = (one: Repository): boolean => one.type !== 'archive';
export const canPush = (one: Repository): boolean => isRemote(one) && one.mode !== 'read-only';
export const canPull = (one: Repository): boolean => isRemote(one) && one.mode !== 'write-only';

/** The repository that a screen is about: the one asked for, the last one used, the first. */
export function defaultRepository(workspace: Workspace | undefined, asked: string): string {
  const ids = repositoriesOf(workspace).filter(isRemote).map((one) => one.id);
  const { lastPush, lastPull } = workspace ?? {};
  const last = [lastPush, lastPull].filter((one) => one?.repositoryId).sort((a, b) => ((a?.createdAt ?? '') < (b?.createdAt ?? '') ? 1 : -1))[0]?.repositoryId ?? '';
  return [asked, last].find((id) => ids.includes(id)) ?? ids[0] ?? '';
}

/** What is asked of a name of a version (versioning 3). */
export function isVersionName(name: string): boolean {
  return /^[A-Za-z0-9_.-]{1,63}$/.test(name) && !/^(current|latest)$/.test(name) && !/^\.|\.$|\.\.|\.lock$/.test(name);
}

/** The name after the last one: its last number is one higher. Empty when the last one has no number that somebody chose. */
export function nextVersionName(last: string | undefined): string {
  const parts = last && !/^\d{8}-\d{6}-/.test(last) ? /^(.*?)(\d{1,9})(\D*)$/.exec(last) : null;
  return parts ? `${parts[1]}${Number(parts[2]) + 1}${parts[3]}` : '';
}

/** Whether a text may be shown: a reference to a secret, not a secret. */
export const isReference = (text: string | undefined): boolean => /^\{\{\s*secret\.[^}]+\}\}$/.test(text ?? '');

export const isSSH = (url: string): boolean => /^ssh:\/\//.test(url) || /^[^/@\s]+@[^/:\s]+:/.test(url);

/** The address without what must not be seen. */
export const shownUrl = (url: string | undefined): string => (url ?? '').replace(/^(\w+:\/\/)[^/@]*@(?=[^/]*\.)/, (whole, scheme: string) => (scheme === 'ssh://' ? whole : scheme));

/** An id made of a name, that none of the others has. */
export function idFromName(name: string, taken: string[]): string {
  const base = name.normalize('NFD').replace(/[^A-Za-z0-9_-]+/g, '-').replace(/^[-_]+|-+$/g, '').slice(0, 36).toLowerCase() || 'origin';
  for (let n = 1; ; n++) {
    const id = n === 1 ? base : `${base}-${n}`;
    if (!taken.includes(id)) return id;
  }
}
