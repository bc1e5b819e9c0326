import { answer, api, asApiError, hooks, sendOnce, setCsrf, type ApiError, type Schema } from './api/client.ts';
import { clearDrafts } from './drafts.ts';
import { chooseLanguage, i18n, useLanguage } from './i18n.svelte.ts';
import { live } from './live/live.svelte.ts';
import { applyPreferences, preferences, showLook, storedLook } from './preferences.svelte.ts';
import { clearResources } from './resource.svelte.ts';

export type Me = Schema<'Me'>;

class Session {
  /** `unknown` until /v2/me answered; `none` without a session; `second_step` when a code is wanted first. */
  state = $state<'unknown' | 'none' | 'second_step' | 'open'>('unknown');
  me = $state.raw<Me | undefined>(undefined);
  /** Why the dialog stands over the screen: the session ended, or it wants its code. */
  interrupted = $state<'' | 'ended' | 'second_step'>('');
  /** Grows after a sign-in in the dialog: reads that failed are made again. */
  renewals = $state(0);

  /** Why it could not be asked who is signed in. */
  failure = $state.raw<ApiError | undefined>(undefined);

  fail(error: unknown): void {
    this.failure = asApiError(error);
  }

  get isSuper(): boolean {
    return this.me?.role === 'superAdmin';
  }

  /** Asks who is signed in. Throws when the server cannot be asked. `probe` also asks whether a code is wanted first. */
  async load(probe = false): Promise<void> {
    try {
      const { data, response } = await answer(api.GET('/v2/me', { fetch: sendOnce }));
      setCsrf(response.headers.get('x-svc-csrf-token'));
      this.failure = undefined;
      await this.take(data, probe);
    } catch (error) {
      const refusal = error as ApiError;
      if (refusal.status !== 401) throw error;
      this.me = undefined;
      this.state = 'none';
    }
  }

  private async take(me: Me, probe: boolean): Promise<void> {
    // Somebody else signed in over an open screen: nothing of the one before may stay on it.
    if (this.me !== undefined && this.me.id !== me.id) return location.reload();
    this.me = me;
    // What another account put away is not put away for this one.
    applyPreferences({ stepsAway: [], ...(me.meta.console as object | undefined) });
    const language = chooseLanguage(me.language ?? storedLook().language, navigator.languages);
    if (language !== i18n.language) await useLanguage(language);
    showLook(language);
    this.state = probe && (await this.wantsSecondStep()) ? 'second_step' : 'open';
    if (this.state !== 'open') return;
    live.restart();
    if (this.interrupted) {
      this.interrupted = '';
      this.renewals++;
    }
  }

  /** `/v2/me` also answers a session that still owes its code; any other read tells. */
  private async wantsSecondStep(): Promise<boolean> {
    try {
      await api.GET('/v2/workspaces', { params: { query: { limit: 1 } }, fetch: sendOnce });
      return false;
    } catch (error) {
      return (error as ApiError).reason === 'mfa_required';
    }
  }

  async signOut(): Promise<void> {
    const user = this.me?.id;
    await answer(api.POST('/v2/logout', { fetch: sendOnce })).catch((error: ApiError) => {
      if (error.status !== 401) throw error;
    });
    if (user) await clearDrafts(user).catch(() => {});
    this.close();
  }

  /** Nobody is signed in any more. */
  close(): void {
    live.stop();
    clearResources();
    setCsrf(null);
    this.me = undefined;
    this.interrupted = '';
    this.state = 'none';
  }

  /** Stores the preferences in the account; they hold at once. */
  async savePreferences(change: Partial<typeof preferences>): Promise<void> {
    applyPreferences({ ...preferences, ...change });
    const { data } = await answer(api.POST('/v2/user/meta', { body: { console: { ...preferences } } as never }));
    if (this.me) this.me = { ...this.me, meta: data as Me['meta'] };
  }
}

export const session = new Session();

/** Connects what the client and the stream notice with the session. Called once, in main.ts. */
export function watchSession(): void {
  hooks.sessionEnded = (error) => {
    if (session.state !== 'open') return;
    session.interrupted = error.reason === 'mfa_required' ? 'second_step' : 'ended';
  };
  live.onEnded = (status) => {
    if (status === 401 && session.state === 'open') session.interrupted ||= 'ended';
  };
  live.onLive = () => {
    if (session.interrupted === 'ended') void session.load().catch(() => {});
  };
}
