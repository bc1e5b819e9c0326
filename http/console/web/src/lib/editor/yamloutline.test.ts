import { expect, test } from 'vitest';
import { contextAt, formatPath, lineOfPath, outline, pathAtLine } from './yamloutline.ts';

const text = `slug: charge
name: payments/Charge
when:
  schedules:
    - '0 9 * * *'
  events: [order.created, 'order.paid']
do:
  - lookup:
      city: Paris
  - fetch: {url: 'http://x', headers: {a: b}, output: answer}
  - conditions:
      '{{place}} exists':
        - emit:
            event: charged
      default: []
  # a note: not a key
  - run:
      module: code
      parameters:
        code: |
          if (a) { return 1 }
          key: no
        args: {n: 1}
  - repeat:
      until: 3
      do:
      - my.instance call:
          x: 1
output:
  place: '{{place}}'
`;

test('finds the line of a path', () => {
  expect(lineOfPath(text, 'do[0].lookup')).toBe(8);
  expect(lineOfPath(text, 'do[1].fetch.url')).toBe(10);
  expect(lineOfPath(text, 'do[1].fetch.headers.a')).toBe(10);
  expect(lineOfPath(text, 'do[2].conditions["{{place}} exists"][0].emit')).toBe(13);
  expect(lineOfPath(text, 'do[3].run')).toBe(17);
  expect(lineOfPath(text, 'do[3].run.parameters.args')).toBe(23);
  expect(lineOfPath(text, 'do[4].repeat.do[0]["my.instance call"]')).toBe(27);
  expect(lineOfPath(text, 'when.schedules[0]')).toBe(5);
  expect(lineOfPath(text, 'when.events[1]')).toBe(6);
  expect(lineOfPath(text, 'output')).toBe(29);
});

test('falls back to the nearest part above, and to nothing', () => {
  expect(lineOfPath(text, 'do[0].lookup.country')).toBe(8);
  expect(lineOfPath(text, 'do[9].lookup')).toBe(7);
  expect(lineOfPath(text, 'nothing')).toBeUndefined();
});

test('finds the path at a line', () => {
  expect(pathAtLine(text, 13)).toBe('do[2].conditions.{{place}} exists[0].emit');
  expect(pathAtLine(text, 22)).toBe('do[3].run.parameters.code');
});

test('block scalars and comments have no keys', () => {
  expect(outline(text).map((entry) => formatPath(entry.path))).not.toContain('do[3].run.parameters.key');
});

const at = (marked: string) => {
  const position = marked.indexOf('|');
  return contextAt(marked.slice(0, position) + marked.slice(position + 1), position);
};

test('knows what the caret is in', () => {
  expect(at('do:\n  - fe|')).toMatchObject({ kind: 'key', path: ['do', 0], item: true, typed: 'fe', column: 4 });
  expect(at('do:\n  - a: {}\n  - |')).toMatchObject({ kind: 'key', path: ['do', 1], item: true });
  expect(at('do:\n  - fetch:\n      url: x\n      me|')).toMatchObject({ kind: 'key', path: ['do', 0, 'fetch'], item: false, typed: 'me', keys: ['url'] });
  expect(at('do:\n  - fetch:\n      |\n      url: x')).toMatchObject({ kind: 'key', path: ['do', 0, 'fetch'], keys: ['url'] });
  expect(at('do:\n  - fetch:\n      method: po|')).toMatchObject({ kind: 'value', path: ['do', 0, 'fetch', 'method'], typed: 'po' });
  expect(at('when:\n  events:\n    - ord|')).toMatchObject({ kind: 'key', path: ['when', 'events', 0], item: true, typed: 'ord' });
  expect(at('name: x\nwh|\ndo: []')).toMatchObject({ kind: 'key', path: [], typed: 'wh', keys: ['name', 'do'] });
  expect(at('do:\n- set|')).toMatchObject({ kind: 'key', path: ['do', 0], typed: 'set' });
});

test('knows it in braces, too', () => {
  expect(at('do:\n  - fetch: {url: x, me|')).toMatchObject({ kind: 'key', path: ['do', 0, 'fetch'], typed: 'me', flow: true });
  expect(at('do:\n  - fetch: {method: po|')).toMatchObject({ kind: 'value', path: ['do', 0, 'fetch', 'method'], typed: 'po', flow: true });
  expect(at("when: {events: [a, 'or|")).toMatchObject({ kind: 'value', path: ['when', 'events', 1], typed: 'or', flow: true });
});
