import { answer, api, ApiError, type Schema } from '../../lib/api/client.ts';
import { router, to } from '../../lib/router.svelte.ts';

export type Operation = Schema<'Operation'>;
export type Step = Schema<'OperationStep'>;

/** Opens the operation that a call began. It is asked for with `timeout=0`, so that every answer names one. */
export async function openStarted(workspaceId: string, call: Promise<{ data?: unknown; response: Response }>): Promise<void> {
  const { response } = await answer(call);
  const opId = response.headers.get('x-svc-operation-id');
  router.go(opId ? to('operation', { id: workspaceId, opId }) : to('versioning', { id: workspaceId }));
}

export const startPush = (workspaceId: string, body: Schema<'PushRequest'>, key: string): Promise<void> =>
  openStarted(workspaceId, api.POST('/v2/workspaces/{workspaceId}/versions', { params: { path: { workspaceId }, query: { timeout: '0' } }, body, headers: { 'Idempotency-Key': key } }));

export const startPull = (workspaceId: string, name: string, body: Schema<'PullRequest'>, key: string): Promise<void> =>
  openStarted(workspaceId, api.POST('/v2/workspaces/{workspaceId}/versions/{name}/pull', { params: { path: { workspaceId, name }, query: { timeout: '0' } }, body, headers: { 'Idempotency-Key': key } }));

/** Why an operation failed, as the call would have refused it. */
export function errorOf(operation: Operation): ApiError | undefined {
  const { error } = operation;
  return error ? new ApiError(0, error.code, error.message, (error.details ?? {}) as Record<string, unknown>, operation.correlationId) : undefined;
}

export const isOver = (operation: Operation): boolean => !/^(queued|running)$/.test(operation.status);

/** It was sent, or is being imported: from here on it goes to its end. */
export function isPastCancelling(kind: Operation['kind'], steps: Step[]): boolean {
  const last = kind === 'push' ? 'push' : 'import';
  return steps.some((one) => one.step === last);
}

/** Steps with what the stream said since they were read: a later report of a step takes the place of an earlier one. */
export function mergeSteps(steps: Step[], reported: Step[]): Step[] {
  const all = [...steps];
  for (const one of reported) {
    const at = all.findIndex((known) => known.step === one.step && known.startedAt === one.startedAt);
    if (at < 0) all.push(one);
    else if (all[at]!.state === 'started') all[at] = one;
  }
  return all;
}
