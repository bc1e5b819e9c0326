/** Words of the time axis of traces, for screen readers. */
export default {
  at: (time: string) => `after ${time}`,
  took: (time: string, from: string) => `${time}, from ${from}`,
  waited: (time: string) => `of which waiting ${time}`,
  failed: 'failed',
  running: 'running',
};
