import { answer, api } from '../../lib/api/client.ts';
import { localized, t } from '../../lib/i18n.svelte.ts';
import { resource } from '../../lib/resource.svelte.ts';
import type { OpenWorkspace } from '../../lib/workspace.svelte.ts';
import { automationsOf } from './automation.ts';
import type { AutomationSchema, Callable, Known } from './help.ts';

/** Native events that can start an automation (automations 6.1). */
const nativeEvents = ['error', 'workspaces.configured', 'workspaces.imported', 'workspaces.deleted', 'workspaces.automations.*', 'workspaces.pages.*', 'workspaces.apps.*', 'workspaces.versions.*', 'runtime.fetch.failed', 'runtime.interactions.triggered', 'runtime.schedules.triggered', 'runtime.webhooks.triggered'];

/** What exists around an automation, for completion and hover: read once per screen and kept up to date. Call it while a component is set up. */
export function knownOf(workspace: OpenWorkspace): () => Known {
  const schema = resource(({ signal }) => answer(api.GET('/v2/schemas/{name}', { params: { path: { name: 'automation' } }, signal })), { cacheKey: () => 'schema/automation' });
  const nothing = { response: new Response(), etag: '', seq: '', total: undefined };
  const secrets = resource<Record<string, { description?: string }>>(
    async ({ signal, headers }) => {
      if (!workspace.data || !workspace.can('read', 'secrets').allowed) return { data: {}, ...nothing };
      const answered = await answer(api.GET('/v2/workspaces/{workspaceId}/security/secrets', { params: { path: { workspaceId: workspace.id } }, signal, headers }));
      return { ...answered, data: answered.data as unknown as Record<string, { description?: string }> };
    },
    { touchedBy: ['workspaces.secrets.updated'], workspaceId: () => workspace.id },
  );
  // Automations of the instances; an app that is gone or forbidden has none.
  const instances = resource<{ slug: string; automations: Callable[]; emits: string[] }[]>(
    async ({ signal, headers }) => {
      const slugs = Object.keys((workspace.data?.imports ?? {}) as Record<string, unknown>).slice(0, 50);
      const read = await Promise.all(
        slugs.map(async (slug) => {
          try {
            const { data } = await answer(api.GET('/v2/workspaces/{workspaceId}/apps/{slug}', { params: { path: { workspaceId: workspace.id, slug } }, signal, headers }));
            const detail = data as unknown as { disabled?: boolean; automations?: { slug: string; name?: unknown; description?: unknown; arguments?: Callable['arguments'] }[]; events?: { emit?: string[] } };
            if (detail.disabled) return undefined;
            return {
              slug,
              automations: (detail.automations ?? []).map((one) => ({ slug: `${slug}.${one.slug}`, name: localized(one.name) || one.slug, description: localized(one.description), arguments: one.arguments ?? {} })),
              emits: (detail.events?.emit ?? []).map((type) => `${slug}.${typeof type === 'string' ? type : String((type as { event?: string }).event ?? '')}`),
            };
          } catch {
            return undefined;
          }
        }),
      );
      return { data: read.filter((one) => one !== undefined), ...nothing };
    },
    { cacheKey: () => `instances/${workspace.id}` },
  );

  return () => {
    const automations = automationsOf(workspace.data);
    const events = new Map<string, Set<string>>();
    const addEvent = (type: string, by: string): void => {
      if (!events.has(type)) events.set(type, new Set());
      if (by) events.get(type)!.add(by);
    };
    for (const one of automations) for (const type of [...(one.events?.emit ?? []), ...(one.events?.listen ?? [])]) addEvent(type, one.slug);
    for (const type of Object.keys((workspace.data?.events as { types?: Record<string, unknown> } | undefined)?.types ?? {})) addEvent(type, '');
    for (const instance of instances.data ?? []) for (const type of instance.emits) addEvent(type, instance.slug);
    for (const type of nativeEvents) addEvent(type, '');
    const declared = (workspace.data?.secrets as { schema?: Record<string, { description?: unknown }> } | undefined)?.schema ?? {};
    const config = workspace.data?.config as { schema?: Record<string, { description?: unknown }>; value?: Record<string, unknown> } | undefined;
    const described = (name: string, ...from: (Record<string, { description?: unknown }> | undefined)[]): string => from.map((one) => localized(one?.[name]?.description)).find(Boolean) ?? '';
    return {
      schema: schema.data as AutomationSchema | undefined,
      callables: [
        ...automations.filter((one) => !one.disabled).map((one) => ({ slug: one.slug, name: localized(one.name) || one.slug, description: localized(one.description), arguments: (one.arguments ?? {}) as Callable['arguments'] })),
        ...(instances.data ?? []).flatMap((one) => one.automations),
      ],
      events: [...events].map(([type, by]) => ({ type, by: [...by].join(', ') })),
      secrets: [...new Set([...Object.keys(declared), ...Object.keys(secrets.data ?? {})])].map((name) => ({ name, description: described(name, secrets.data, declared) })),
      config: [...new Set([...Object.keys(config?.schema ?? {}), ...Object.keys(config?.value ?? {})])].map((name) => ({ name, description: described(name, config?.schema) })),
      words: { calls: t.automations.help.calls, event: t.automations.help.event, argument: t.automations.help.argument, setAbove: t.automations.help.setAbove, context: t.automations.help.context, required: t.automations.help.required },
    };
  };
}
