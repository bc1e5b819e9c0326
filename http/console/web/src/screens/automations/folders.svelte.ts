import { SvelteSet } from 'svelte/reactivity';

/* Folders that were closed, by workspace, as long as the page lives. */
const closed = new SvelteSet<string>();

export function closedFolders(workspaceId: string): ReadonlySet<string> {
  const prefix = `${workspaceId}|`;
  return new Set([...closed].filter((one) => one.startsWith(prefix)).map((one) => one.slice(prefix.length)));
}

closedFolders.toggle = (workspaceId: string, folder: string): void => {
  const id = `${workspaceId}|${folder}`;
  if (!closed.delete(id)) closed.add(id);
};
