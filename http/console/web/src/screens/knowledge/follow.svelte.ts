import { followWorkspace } from '../../lib/live/live.svelte.ts';
import type { OpenWorkspace } from '../../lib/workspace.svelte.ts';

/**
 * Calls `changed` when documents of knowledge bases came, went or were processed. Not every step is an event, and who may not
 * read events gets none: while `isBusy`, it is called every 3 s, too.
 */
export function followKnowledge(workspace: OpenWorkspace, changed: (seq: string) => void, isBusy: () => boolean): void {
  const follows = $derived(workspace.can('read', 'events').allowed && workspace.at === undefined);
  $effect(() => {
    if (!follows) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let seq = '';
    const stream = followWorkspace(workspace.id, new URLSearchParams({ types: 'knowledge.*' }), {
      onEvents: (events) => {
        seq = events[events.length - 1]!.seq;
        timer ??= setTimeout(() => {
          timer = undefined;
          changed(seq);
        }, 500);
      },
      onGap: () => changed(''),
    });
    return () => {
      clearTimeout(timer);
      stream.close();
    };
  });
  pollWhile(isBusy, () => changed(''));
}

/** Calls `poll` every 3 s while something is true and the page is seen. */
export function pollWhile(isBusy: () => boolean, poll: () => void): void {
  const busy = $derived(isBusy());
  $effect(() => {
    if (!busy) return;
    const interval = setInterval(() => {
      if (!document.hidden) poll();
    }, 3000);
    return () => clearInterval(interval);
  });
}
