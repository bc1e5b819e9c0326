/** Requests that wait for a busy server or ask again because their outcome is not known; the shell shows it. */
class Waiting {
  list = $state.raw<{ kind: 'busy' | 'not_known'; until: number }[]>([]);

  begin = (wait: { kind: 'busy' | 'not_known'; until: number }): (() => void) => {
    this.list = [...this.list, wait];
    return () => (this.list = this.list.filter((one) => one !== wait));
  };
}
export const waiting = new Waiting();
