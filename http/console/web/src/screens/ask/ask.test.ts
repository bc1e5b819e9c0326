import { expect, test } from 'vitest';
import { afterFrame, historyOf, type Turn } from './ask.svelte.ts';

test('a question is what its frames tell, and later ones know it', () => {
  const asked: Turn = { question: 'When?', text: '', sources: undefined, answer: undefined, failure: undefined, status: 'asking' };
  const tell = (...frames: [string, unknown][]): Turn => frames.reduce((turn, [event, data]) => afterFrame(turn, { event, data: JSON.stringify(data) }), asked);
  expect(tell(['sources', { results: [{}, {}] }], ['delta', { text: 'In ' }], ['delta', { text: 'May' }], ['news', {}])).toMatchObject({ sources: 2, text: 'In May', status: 'asking' });
  const done = tell(['delta', { text: 'In [7]' }], ['done', { answer: 'In May [1]', grounded: true }]);
  expect([done.text, done.status, done.answer?.grounded]).toEqual(['In May [1]', 'done', true]);
  const failed = tell(['error', { error: 'service_unavailable', message: 'x', details: { reason: 'model_unavailable' } }]);
  expect([failed.status, failed.failure?.reason]).toEqual(['failed', 'model_unavailable']);
  expect(historyOf([done, failed, { ...done, status: 'stopped' }])).toEqual([{ role: 'user', content: 'When?' }, { role: 'assistant', content: 'In May [1]' }]);
  expect(historyOf(Array.from({ length: 15 }, () => done))).toHaveLength(20);
});
