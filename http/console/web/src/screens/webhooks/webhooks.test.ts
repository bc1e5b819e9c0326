import { createHmac, timingSafeEqual } from 'node:crypto';
import { expect, test } from 'vitest';
import { receivers } from './receiver.ts';
import { healthOf, isFailed, matchingFilter, nameOf, suggestedTypes } from './webhooks.ts';

test('the worst that is known of a receiver is its health', () => {
  const good = { disabled: false, breaker: 'closed' as const, lastDeliveryAt: '2026-01-01T00:00:00Z' };
  expect(healthOf({ ...good, lastDeliveryAt: undefined })).toBe('unused');
  expect(healthOf(good)).toBe('delivered');
  expect(healthOf({ ...good, failingSince: '2026-01-02T00:00:00Z' })).toBe('failing');
  expect(healthOf({ ...good, failingSince: '2026-01-02T00:00:00Z', breaker: 'open' })).toBe('broken');
  expect(healthOf({ ...good, breaker: 'open', disabled: true })).toBe('disabled');
  expect(healthOf({ ...good, disabled: true, disabledReason: 'it failed' })).toBe('stopped');
});

test('a subscription is called by its description, else by its address', () => {
  expect(nameOf({ description: ' Shop \nsecond line', url: 'https://a.example/x' })).toBe('Shop');
  expect(nameOf({ description: '', url: 'https://a.example/x' })).toBe('a.example/x');
  expect(isFailed({ status: 'dead' }) && isFailed({ status: 'failed' }) && !isFailed({ status: 'pending' })).toBe(true);
});

test('what the workspace emits is suggested first', () => {
  const types = suggestedTypes({ automations: { a: { events: { emit: ['order.paid', '{{name}}'] } } }, events: { types: { 'order.sent': {} } } } as never);
  expect(types.slice(0, 2)).toEqual(['order.paid', 'order.sent']);
  expect(types).not.toContain('{{name}}');
  expect(suggestedTypes(undefined)).toContain('error');
});

test('the filter of a subscription finds what it sends', () => {
  expect(matchingFilter({ types: ['a', 'b.*'], filters: { 'payload.x': 1, appInstanceDepth: -1 } }, { from: 'x' })).toEqual({ types: 'a,b.*', 'payload.x': 1, appInstanceDepth: -1, afterDate: 'x' });
});

test('the receiver for Node.js takes what is signed, and nothing else', () => {
  const key = Buffer.alloc(24, 7);
  const code = receivers.node.replace(/^import .*$/gm, '').split('createServer(')[0]!;
  const verify = new Function('createHmac', 'timingSafeEqual', 'Buffer', 'process', `${code}; return verify`)(createHmac, timingSafeEqual, Buffer, { env: { WEBHOOK_SECRET: `whsec_${key.toString('base64')}` } }) as (headers: object, body: string) => boolean;
  const signed = (timestamp: number, body: string) => ({ 'webhook-id': 'e1', 'webhook-timestamp': String(timestamp), 'webhook-signature': `v1,AAAA v1,${createHmac('sha256', key).update(`e1.${timestamp}.${body}`).digest('base64')}` });
  const now = Math.floor(Date.now() / 1000);
  expect(verify(signed(now, '{"é":1}'), '{"é":1}')).toBe(true);
  expect(verify(signed(now, '{}'), '{ }')).toBe(false);
  expect(verify(signed(now - 900, '{}'), '{}')).toBe(false);
});
