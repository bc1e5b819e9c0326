import { SvelteMap } from 'svelte/reactivity';
import { answer, api } from './api/client.ts';

/** Names by id, asked for in batches and kept for the page. What cannot be asked for has no name. */
function lookup(ask: (ids: string[]) => Promise<Iterable<[id: string, name: string]>>): (id: string) => string | undefined {
  const names = new SvelteMap<string, string>();
  const asked = new Set<string>();
  const batch: string[] = [];
  async function askForAll(): Promise<void> {
    const ids = batch.splice(0, 100);
    if (batch.length > 0) setTimeout(() => void askForAll(), 30);
    try {
      for (const [id, name] of await ask(ids)) if (name) names.set(id, name);
    } catch {
      // They stay without a name.
    }
  }
  return (id) => {
    if (!asked.has(id)) {
      asked.add(id);
      if (batch.length === 0) setTimeout(() => void askForAll(), 30);
      batch.push(id);
    }
    return names.get(id);
  };
}

const people = lookup(async (ids) => {
  const { data } = await answer(api.POST('/v2/contacts', { params: { query: { limit: 100 } }, body: { ids } }));
  return data.contacts.map((contact) => [contact.id ?? '', [contact.firstName, contact.lastName].filter(Boolean).join(' ') || ((contact as { email?: string }).email ?? '')]);
});

/** The name of a user; the id until it is known, and for ever when it cannot be. */
export function personName(id: string): string {
  return /^[0-9a-f]{24}$/.test(id) ? (people(id) ?? id.slice(0, 8)) : id;
}

const workspaces = lookup(async (ids) => {
  const { data } = await answer(api.GET('/v2/workspaces', { params: { query: { ids: ids.join(','), limit: ids.length } } }));
  return data.map((one) => [one.id, one.name]);
});

/** The name of a workspace; its id until it is known, and when it is deleted. */
export function workspaceName(id: string): string {
  return workspaces(id) ?? id;
}
