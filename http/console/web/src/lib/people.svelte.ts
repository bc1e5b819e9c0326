import { SvelteMap } from 'svelte/reactivity';
import { answer, api } from './api/client.ts';

/* Names of people by id, asked for in batches and kept for the page. */
const names = new SvelteMap<string, string>();
const asked = new Set<string>();
let batch: string[] = [];

/** The name of a user; the id until it is known, and for ever when it cannot be. */
export function personName(id: string): string {
  if (!/^[0-9a-f]{24}$/.test(id)) return id;
  if (!asked.has(id)) {
    asked.add(id);
    if (batch.length === 0) setTimeout(ask, 30);
    batch.push(id);
  }
  return names.get(id) ?? id.slice(0, 8);
}

async function ask(): Promise<void> {
  const ids = batch;
  batch = [];
  try {
    const { data } = await answer(api.POST('/v2/contacts', { params: { query: { limit: 100 } }, body: { ids } }));
    for (const contact of data.contacts) {
      const name = [contact.firstName, contact.lastName].filter(Boolean).join(' ') || (contact as { email?: string }).email || '';
      if (name && contact.id) names.set(contact.id, name);
    }
  } catch {
    // The short id stays.
  }
}
