import { answer, api, asApiError, asYaml, yamlBody } from '../../lib/api/client.ts';

const route = '/v2/workspaces/{workspaceId}';

/**
 * Declares a secret in the index of the workspace, or takes its declaration away (`undefined`). The rest of the
 * index stays as it is, also what somebody saves at the same time. Returns the position of the change.
 */
export async function declareSecret(workspaceId: string, name: string, declaration: { description: string } | undefined): Promise<string> {
  const { changeYaml, yamlPart } = await import('../../lib/editor/yamledit.ts');
  const params = { path: { workspaceId } };
  for (let attempt = 1; ; attempt++) {
    const { data, etag } = await answer(api.GET(route, { params, ...asYaml }));
    const field = declaration && { type: 'string', secret: true, ...(declaration.description ? { description: declaration.description } : {}) };
    const changed = changeYaml(String(data), ['secrets', 'schema', name], undefined, field);
    try {
      const { seq } = await answer(api.PATCH(route, { params, ...yamlBody(yamlPart(changed, 'secrets'), { ifMatch: etag }) }));
      return seq;
    } catch (error) {
      if (attempt >= 3 || !asApiError(error).is('resource_conflict', 'stale')) throw error;
    }
  }
}
