import { describe, expect, test } from 'vitest';
import { FrameReader, backoff } from './sse.ts';

const text = 'retry: 2000\n\n: keep alive\n\nid: A1\ndata: {"a":1}\n\nid: A2\nevent: x\ndata: one\ndata: two\n\n';

describe('FrameReader', () => {
  test('reads frames however the text is cut', () => {
    for (let size = 1; size < text.length; size++) {
      const reader = new FrameReader();
      const frames = [];
      for (let at = 0; at < text.length; at += size) frames.push(...reader.push(text.slice(at, at + size)));
      expect(frames).toEqual([
        { id: 'A1', event: '', data: '{"a":1}' },
        { id: 'A2', event: 'x', data: 'one\ntwo' },
      ]);
    }
  });
  test('accepts lines that end with CRLF and fields without a space', () => {
    expect(new FrameReader().push('id:7\r\ndata:x\r\n\r\n')).toEqual([{ id: '7', event: '', data: 'x' }]);
  });
  test('knows the position of a stream that has sent no event yet', () => {
    const reader = new FrameReader();
    expect(reader.push('retry: 2000\nid: S4\n\n: still here\n\n')).toEqual([]);
    expect(reader.position).toBe('S4');
    reader.push('id: S5\ndata: x\n');
    expect(reader.position).toBe('S4');
    reader.push('\n');
    expect(reader.position).toBe('S5');
  });
  test('keeps an unfinished frame', () => {
    const reader = new FrameReader();
    expect(reader.push('data: x\n')).toEqual([]);
    expect(reader.push('\n')).toHaveLength(1);
  });
});

test('pauses grow to 15 s and are spread', () => {
  expect(backoff(0, 0)).toBe(250);
  expect(backoff(0, 1)).toBe(500);
  expect(backoff(3, 1)).toBe(4000);
  expect(backoff(20, 1)).toBe(15_000);
});
