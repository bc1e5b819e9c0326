import { expect, test } from 'vitest';
import { shownText, stateOf } from './agents.ts';
import { hasEnded, withFrame, type Message } from './chat.svelte.ts';
import { isMcp, toolInForm, toolOfForm } from './settings.ts';

const begun: Message = { id: 'msg_1', conversationId: 'cnv_1', role: 'assistant', status: 'running', text: '', citations: [], toolCalls: [], usage: { promptTokens: 0, completionTokens: 0 }, steps: 0, createdAt: '2026-01-02T03:04:05Z' };
const tell = (...frames: [event: string, data: unknown][]): Message => frames.reduce((message, [event, data]) => withFrame(message, { event, data: JSON.stringify(data) }), begun);

test('a message is what its frames tell', () => {
  const call = { id: 'call_1_1', name: 'refund', arguments: { id: 3 } };
  expect(tell(['message', { messageId: 'msg_1' }], ['delta', { text: 'Refunds ' }], ['delta', { text: 'take' }], ['news', { text: 'x' }]).text).toBe('Refunds take');
  expect(tell(['tool_call', call], ['tool_call', call]).toolCalls).toEqual([{ ...call, duration: -1 }]);
  expect(tell(['tool_call', call], ['tool_call', { ...call, id: 'call_1_2' }], ['tool_result', { ...call, output: 'paid', duration: 7 }]).toolCalls.map((one) => [one.id, one.duration])).toEqual([['call_1_1', 7], ['call_1_2', -1]]);
  const waiting = tell(['tool_call', call], ['approval', { callId: 'call_1_1', name: 'refund', arguments: { id: 3 }, until: '2026-01-09T03:04:05Z' }]);
  expect([waiting.status, waiting.approvals?.length, hasEnded(waiting)]).toEqual(['waiting_approval', 1, false]);
  const failed = tell(['delta', { text: 'x' }], ['error', { error: 'gateway_timeout', message: 'late', details: { reason: 'message_timeout' } }]);
  expect([failed.status, failed.error?.details?.reason, hasEnded(failed)]).toEqual(['failed', 'message_timeout', true]);
  expect(tell(['delta', { text: 'x' }], ['done', { ...begun, status: 'completed', text: 'whole' }]).text).toBe('whole');
});

test('sharing and publishing are no change of the text', () => {
  expect(shownText('slug: a\ninstructions: |\n  public: yes\npublic: true\npublished: true\n')).toBe('slug: a\ninstructions: |\n  public: yes\n');
});

test('how an agent stands with what callers get', () => {
  const published = { number: 1, at: '', by: '', current: true };
  expect([stateOf({}), stateOf({ published }), stateOf({ published: { ...published, current: false } }), stateOf({ published, disabled: true })]).toEqual(['draft', 'published', 'changed', 'disabled']);
});

test('an approval is a box to tick', () => {
  expect(toolInForm({ automation: 'a', approval: 'always' })).toEqual({ automation: 'a', approval: true });
  expect(toolOfForm({ automation: 'a', approval: true })).toEqual({ automation: 'a', approval: 'always' });
  expect(toolOfForm(toolInForm({ automation: 'a' }))).toEqual({ automation: 'a' });
  expect([isMcp({ mcp: { url: 'x' } }), isMcp({ automation: 'a' }), isMcp(null)]).toEqual([true, false, false]);
});
