import { answer, api } from './api/client.ts';
import { asApiError, type ApiError } from './api/errors.ts';
import { errorSentence } from './errortext.ts';
import { t } from './i18n.svelte.ts';

export interface Toast {
  id: number;
  text: string;
  kind: 'info' | 'danger';
  action?: { label: string; run: () => void | Promise<void> };
  error?: ApiError;
}

let next = 0;
export const toasts = $state<{ list: Toast[] }>({ list: [] });

/** Says what was done, bottom left, for 6 s. At most three stand at once. */
export function showToast(text: string, action?: Toast['action']): void {
  add({ text, kind: 'info', action });
}

/** Says that something in the background did not work. Never the only place of an error of an action that the person waits for. */
export function showErrorToast(error: unknown): void {
  const refusal = asApiError(error);
  if (refusal.code === 'aborted') return;
  add({ text: errorSentence(refusal), kind: 'danger', error: refusal });
}

/**
 * Says what was done, with Undo: `{w}/undo` with the position of the write.
 *
 *     showUndo(t.automations.deleted(slug), workspaceId, seq, () => list.reload());
 */
export function showUndo(text: string, workspaceId: string, seq: string, after: () => void = () => {}): void {
  add({
    text,
    kind: 'info',
    action: {
      label: t.common.undo,
      run: async () => {
        try {
          await answer(api.POST('/v2/workspaces/{workspaceId}/undo', { params: { path: { workspaceId } }, body: { seq } }));
          showToast(t.common.undone);
          after();
        } catch (error) {
          showErrorToast(error);
        }
      },
    },
  });
}

export function dismissToast(id: number): void {
  toasts.list = toasts.list.filter((toast) => toast.id !== id);
}

function add(toast: Omit<Toast, 'id'>): void {
  toasts.list = [...toasts.list, { ...toast, id: ++next }].slice(-3);
}
