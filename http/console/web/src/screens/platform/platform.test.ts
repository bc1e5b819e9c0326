import { expect, test } from 'vitest';
import { isChanged, servicesOf } from './platform.ts';

test('services that fail come first, with what is wrong', () => {
  const services = servicesOf({
    status: 'error',
    services: {
      'api-gateway': { status: 'ready', modulesReady: [{ module: 'database', driver: 'badger' }] },
      runtime: { status: 'error', url: 'http://x', errors: [{ error: 'WriteFailed', module: 'broker', driver: 'nats', message: 'disk full' }] },
    },
  });
  expect(services.map((one) => one.name)).toEqual(['runtime', 'api-gateway']);
  expect(services[0]!.modules).toEqual([{ name: 'broker', driver: 'nats', fault: 'WriteFailed: disk full' }]);
});

test('a setting that somebody gave is changed', () => {
  expect(isChanged({ source: 'env' })).toBe(true);
  expect(isChanged({ source: 'default' })).toBe(false);
});
