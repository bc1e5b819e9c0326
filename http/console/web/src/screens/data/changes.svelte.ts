import { followWorkspace } from '../../lib/live/live.svelte.ts';

/**
 * Calls `changed` when rows may have changed: rows have no events of their own, but automations
 * write them, and an automation that ends is an event. What others write through the API is seen
 * when the tab is looked at again, and every 15 s meanwhile.
 */
export function changes(workspaceId: () => string, changed: (seq: string) => void): void {
  $effect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let seq = '';
    const stream = followWorkspace(workspaceId(), new URLSearchParams({ types: 'runtime.automations.executed,runtime.waits.pending,workspaces.collections.updated', appInstanceDepth: '-1' }), {
      onEvents: (events) => {
        seq = events[events.length - 1]!.seq;
        timer ??= setTimeout(() => {
          timer = undefined;
          changed(seq);
        }, 500);
      },
      onGap: () => changed(''),
    });
    const again = (): void => {
      if (!document.hidden) changed('');
    };
    const interval = setInterval(again, 15_000);
    document.addEventListener('visibilitychange', again);
    return () => {
      clearTimeout(timer);
      clearInterval(interval);
      document.removeEventListener('visibilitychange', again);
      stream.close();
    };
  });
}
