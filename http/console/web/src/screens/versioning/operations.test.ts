import { expect, test } from 'vitest';
import { isPastCancelling, mergeSteps, type Step } from './operations.ts';

const step = (name: Step['step'], state: Step['state'], startedAt = '2026-11-12T10:00:00.000Z'): Step => ({ step: name, state, startedAt });

test('what the stream reports completes what was read', () => {
  expect(mergeSteps([step('checkout', 'done'), step('pull', 'started')], [step('checkout', 'started'), step('pull', 'done'), step('write', 'started')])).toEqual([step('checkout', 'done'), step('pull', 'done'), step('write', 'started')]);
  // A push that was overtaken fetches again: that is another step.
  expect(mergeSteps([step('pull', 'done')], [step('pull', 'started', '2026-11-12T10:00:01.000Z')])).toHaveLength(2);
});

test('a push can be cancelled until it is sent, a pull until it is imported', () => {
  expect(isPastCancelling('push', [step('checkout', 'done'), step('write', 'started')])).toBe(false);
  expect(isPastCancelling('push', [step('push', 'started')])).toBe(true);
  expect(isPastCancelling('pull', [step('merge', 'done')])).toBe(false);
  expect(isPastCancelling('pull', [step('import', 'started')])).toBe(true);
});
