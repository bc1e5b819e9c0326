import { upload, urlOf, type Schema } from '../../lib/api/client.ts';
import { ApiError } from '../../lib/api/errors.ts';
import { base } from '../../lib/page.ts';

/** Makes the sample workspace out of the archive that the server brings along. */
export async function createSample(): Promise<string> {
  const response = await fetch(`${base}/sample.zip`);
  if (!response.ok) throw new ApiError(response.status, 'internal_error', `The sample archive answered ${response.status}.`, {}, '', 0, `GET ${base}/sample.zip`);
  const archive = new Blob([await response.blob()], { type: 'application/zip' });
  const result = await upload<Schema<'ImportResult'>>(urlOf('/v2/workspaces/import'), archive);
  if (!result.workspace) throw new ApiError(422, 'validation_failed', result.errors.map((item) => `${item.filepath}: ${item.msg}`).join('\n'));
  return result.workspace.id;
}
