import { base, buildId } from './page.ts';

/** Whether the server has another build of the console than this page. */
class Build {
  outdated = $state(false);
  /** A chunk did not load: the screen itself says so, in place of the bar. */
  chunkMissing = $state(false);
  private asked = 0;

  /** Asks the server, at most every ten seconds. Called when a chunk is missing, after a reconnect and when the tab is shown again. */
  async check(): Promise<void> {
    if (this.outdated || Date.now() - this.asked < 10_000) return;
    this.asked = Date.now();
    try {
      const page = await (await fetch(`${base}/`, { cache: 'no-cache', headers: { Accept: 'text/html' } })).text();
      const theirs = /<meta name="svc-build" content="([^"]*)"/.exec(page)?.[1];
      if (theirs !== undefined && theirs !== buildId) this.outdated = true;
    } catch {
      // Not reachable: the next reconnect asks again.
    }
  }
}
export const build = new Build();
