import { expect, test } from 'vitest';
import { deviceOf } from './device.ts';

test('names the browser and the system', () => {
  expect(deviceOf('Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0 Safari/537.36')).toEqual({ browser: 'Chrome', system: 'Linux' });
  expect(deviceOf('Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 Mobile/15E148 Safari/604.1')).toEqual({ browser: 'Safari', system: 'iOS' });
  expect(deviceOf('curl/7.88.1')).toEqual({ browser: 'curl', system: '' });
  expect(deviceOf('')).toBeUndefined();
});
