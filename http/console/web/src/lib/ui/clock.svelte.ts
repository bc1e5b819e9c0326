/** The time, once a second or a minute, shared by everything that shows it. It runs while somebody reads it. */
import { createSubscriber } from 'svelte/reactivity';

function clock(ms: number): () => number {
  const subscribe = createSubscriber((update) => {
    const timer = setInterval(update, ms);
    return () => clearInterval(timer);
  });
  return () => {
    subscribe();
    return Date.now();
  };
}

export const everySecond = clock(1000);
export const everyTenSeconds = clock(10_000);
