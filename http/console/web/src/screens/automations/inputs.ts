import { session } from '../../lib/session.svelte.ts';
import { withoutSecrets, type TypedField } from '../../lib/ui/typedfield.ts';

/* Inputs that an automation was run with, in this tab's storage: they may hold what is nobody else's business. */
export interface KeptInput {
  payload: Record<string, unknown>;
  at?: number;
}

const keyOf = (workspaceId: string, slug: string): string => `svc-inputs-${session.me?.id ?? ''}-${workspaceId}-${slug}`;

export function recentInputs(workspaceId: string, slug: string): KeptInput[] {
  try {
    return JSON.parse(sessionStorage.getItem(keyOf(workspaceId, slug)) ?? '[]') as KeptInput[];
  } catch {
    return [];
  }
}

/** Keeps an input as the newest of five; fields marked secret are left out. */
export function rememberInput(workspaceId: string, slug: string, input: KeptInput, schema?: TypedField): void {
  const kept: KeptInput = { payload: withoutSecrets(input.payload, schema) as Record<string, unknown>, at: Date.now() };
  const text = JSON.stringify(kept.payload);
  if (text.length > 100_000) return;
  const others = recentInputs(workspaceId, slug).filter((one) => JSON.stringify(one.payload) !== text);
  try {
    sessionStorage.setItem(keyOf(workspaceId, slug), JSON.stringify([kept, ...others].slice(0, 5)));
  } catch {
    // Without storage nothing is recent.
  }
}
