import { answer, api, writeHeaders } from '../../lib/api/client.ts';
import type { Repository } from './repositories.ts';

/**
 * Changes the repositories of a workspace. They are written as a whole, so the newest ones are read first, and nothing
 * is written over what somebody else saved in between. Credentials stay as their mask. Returns the position of the write.
 */
export async function saveRepositories(workspaceId: string, change: (all: Record<string, Repository>) => Record<string, Repository>): Promise<string> {
  const path = { workspaceId };
  const { data, etag } = await answer(api.GET('/v2/workspaces/{workspaceId}', { params: { path }, cache: 'no-store' }));
  const repositories = change((data.repositories ?? {}) as Record<string, Repository>);
  const { seq } = await answer(api.PATCH('/v2/workspaces/{workspaceId}', { params: { path }, body: { repositories } as never, headers: writeHeaders({ ifMatch: etag }) }));
  return seq;
}
