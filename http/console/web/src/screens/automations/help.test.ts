import { expect, test } from 'vitest';
import { automationHelp, setAbove, templateAt, type AutomationSchema, type Known } from './help.ts';

// A part of what GET /v2/schemas/automation answers.
const schema: AutomationSchema = {
  properties: {
    name: { type: 'string', description: 'Its title.' },
    when: { type: ['object', 'null'], properties: { events: { type: ['array', 'null'], items: { type: 'string' } }, endpoint: { type: ['string', 'boolean', 'null'] } } },
    do: { $ref: '#/$defs/instructions', description: 'Instructions.' },
    checksum: { readOnly: true },
  },
  $defs: {
    template: { type: 'string' },
    instructions: { type: ['array', 'null'], items: { $ref: '#/$defs/instruction' } },
    instruction: {
      type: ['object', 'null'],
      properties: {
        fetch: { anyOf: [{ type: 'object', properties: { url: { type: 'string', description: 'Absolute address.' }, method: { anyOf: [{ type: ['string', 'null'], examples: ['get', 'post'] }, { $ref: '#/$defs/template' }], default: 'get' }, output: {} }, required: ['url'] }, { $ref: '#/$defs/template' }], description: 'Calls an address.' },
        emit: { anyOf: [{ type: 'object', properties: { event: { type: 'string' }, payload: {} }, required: ['event'] }], description: 'Records an event.' },
      },
    },
  },
  'x-functions': [{ name: 'date', signature: 'date(x)', description: 'A date.' }],
  'x-modules': { code: ['run', 'call'], text: ['splitText'] },
};

const known: Known = {
  schema,
  callables: [{ slug: 'lookup', name: 'Lookup', description: 'Finds a place.', arguments: { city: { type: 'string', required: true }, count: { type: 'integer' } } }],
  events: [{ type: 'order.created', by: 'charge' }],
  secrets: [{ name: 'stripe', description: 'Key of Stripe' }],
  config: [{ name: 'region', description: '' }],
  words: { calls: (name) => `calls ${name}`, event: (by) => by, argument: 'argument', setAbove: 'set above', context: 'context', required: 'required' },
};
const help = automationHelp(() => known);

function at(marked: string, explicit = false) {
  const position = marked.indexOf('|');
  return help.complete!(marked.slice(0, position) + marked.slice(position + 1), position, explicit);
}
const labels = (marked: string, explicit = false): string[] => at(marked, explicit)?.proposals.map((one) => one.label) ?? [];

test('offers instructions with text and skeleton, and automations to call', () => {
  const found = at('do:\n  - fe|')!;
  expect(found.from).toBe('do:\n  - '.length);
  const fetch = found.proposals.find((one) => one.label === 'fetch')!;
  expect(fetch.info).toContain('Calls an address.');
  expect(fetch.insert).toBe('fetch:\n  url: ${}\n  output: ${}');
  expect(found.proposals.find((one) => one.label === 'lookup')).toMatchObject({ detail: 'calls Lookup', insert: 'lookup:\n  city: ${}\n  output: ${result}' });
});

test('offers parameters that are not there yet, and their values', () => {
  expect(labels('do:\n  - fetch:\n      url: x\n      m|')).toEqual(['method', 'output']);
  expect(labels('do:\n  - fetch:\n      method: |', true)).toEqual(['get', 'post']);
  expect(labels('do:\n  - lookup:\n      c|')).toContain('city');
  expect(labels('na|')).not.toContain('checksum');
});

test('offers event types, modules and their functions', () => {
  expect(labels('do:\n  - emit:\n      event: o|')).toEqual(['order.created']);
  expect(labels('when:\n  events:\n    - o|')).toEqual(['order.created']);
  expect(labels('do:\n  - run:\n      module: c|')).toEqual(['code', 'text']);
  expect(labels('do:\n  - run:\n      module: text\n      function: s|')).toEqual(['splitText']);
});

test('offers variables in templates', () => {
  const text = 'arguments:\n  city: {type: string}\ndo:\n  - set:\n      name: total\n      value: 1\n  - fetch: {url: x, output: answer}\n  - set: {name: a, value: "{{|"}';
  expect(labels(text)).toEqual(expect.arrayContaining(['total', 'answer', 'city', 'secret.stripe', 'config.region', 'run.date']));
  expect(labels("do:\n  - set: {name: a, value: '{% da|")).toEqual(['date']);
});

test('knows what set and output name', () => {
  expect(setAbove('do:\n  - set:\n      name: a\n      value: 1\n  - other:\n      name: b\n      output: c\noutput: x')).toEqual(['a', 'c']);
});

test('sees an open template', () => {
  expect(templateAt("value: '{{se")).toEqual({ kind: 'path', typed: 'se' });
  expect(templateAt("value: '{{a}} ")).toBeUndefined();
  expect(templateAt("value: '{% da")).toEqual({ kind: 'expression', typed: 'da' });
});

test('says on hover what an instruction, a parameter and a call do', () => {
  const text = 'do:\n  - fetch:\n      url: x\n  - lookup: {city: a}\n';
  expect(help.hover!(text, text.indexOf('fetch') + 2)).toMatchObject({ title: 'fetch', text: 'Calls an address.', more: 'url *, method, output' });
  expect(help.hover!(text, text.indexOf('url') + 1)).toMatchObject({ title: 'url *', text: 'Absolute address.' });
  expect(help.hover!(text, text.indexOf('lookup') + 1)).toMatchObject({ title: 'Lookup', text: 'Finds a place.' });
});
