import type { Schema } from '../../lib/api/client.ts';
import type { Workspace } from '../../lib/workspace.svelte.ts';

export type Subscription = Schema<'Subscription'>;
export type Delivery = Schema<'Delivery'>;

/** How a receiver does, the worst first. */
export type Health = 'stopped' | 'disabled' | 'broken' | 'failing' | 'delivered' | 'unused';

/** `stopped`: the platform disabled it; `unused`: nothing was delivered yet. */
export function healthOf(subscription: Pick<Subscription, 'disabled' | 'disabledReason' | 'breaker' | 'failingSince' | 'lastDeliveryAt'>): Health {
  if (subscription.disabled) return subscription.disabledReason ? 'stopped' : 'disabled';
  if (subscription.breaker === 'open') return 'broken';
  if (subscription.failingSince) return 'failing';
  return subscription.lastDeliveryAt ? 'delivered' : 'unused';
}

/** The name of a subscription: its description, else where it sends to. */
export function nameOf(subscription: Pick<Subscription, 'description' | 'url'>): string {
  return subscription.description.split('\n')[0]!.trim() || subscription.url.replace(/^https?:\/\//, '');
}

export const statuses = ['pending', 'succeeded', 'failed', 'dead'] as const;

/** Whether a delivery can be asked for again because it did not arrive. */
export function isFailed(delivery: Pick<Delivery, 'status'>): boolean {
  return delivery.status === 'failed' || delivery.status === 'dead';
}

/** Types of events of the platform that receivers usually want. */
const nativeTypes = ['error', 'workspaces.versions.*', 'workspaces.imported', 'workspaces.automations.*', 'runtime.fetch.failed', 'runtime.interactions.triggered'];

/** Types of events that a subscription may want: those that the workspace emits and declares first. */
export function suggestedTypes(workspace: Workspace | undefined): string[] {
  const automations = Object.values((workspace?.automations ?? {}) as Record<string, { events?: { emit?: string[] } }>);
  const emitted = automations.flatMap((one) => one.events?.emit ?? []);
  const declared = Object.keys((workspace?.events as { types?: Record<string, unknown> } | undefined)?.types ?? {});
  return [...new Set([...emitted, ...declared, ...nativeTypes])].filter((type) => /^[\w.*:-]+$/.test(type));
}

/** The filter of a search that finds what a subscription sends, in a period if there is one. */
export function matchingFilter(terms: { types: string[]; filters: Record<string, unknown> }, period: { from?: string; to?: string } = {}): Record<string, unknown> {
  return {
    appInstanceDepth: 1,
    ...terms.filters,
    types: terms.types.join(','),
    ...(period.from ? { afterDate: period.from } : {}),
    ...(period.to ? { beforeDate: period.to } : {}),
  };
}

/** Periods that can be replayed, in milliseconds. */
export const replayPeriods = { '1h': 3_600_000, '24h': 86_400_000, '7d': 604_800_000 } as const;

/** Seconds for which the secret before may sign too. */
export const overlaps = [0, 3600, 86_400, 604_800, 2_592_000] as const;
