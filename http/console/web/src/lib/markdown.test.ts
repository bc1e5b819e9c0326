import { expect, test } from 'vitest';
import { parseMarkdown, safeHref, type Block, type Inline } from './markdown.ts';

/** A tree as short text, to compare. */
const words = (parts: Inline[]): string =>
  parts.map((one) => (one.kind === 'text' ? one.text : one.kind === 'code' ? `\`${one.text}\`` : one.kind === 'cite' ? `{${one.n}}` : one.kind === 'break' ? '⏎' : one.kind === 'link' ? `<${one.href} ${words(one.children)}>` : `${one.kind}(${words(one.children)})`)).join('');
const shape = (blocks: Block[]): string[] =>
  blocks.map((one) => {
    if (one.kind === 'paragraph' || one.kind === 'heading') return `${one.kind === 'heading' ? '# ' : ''}${words(one.children)}`;
    if (one.kind === 'list') return `${one.start ?? '-'}[${one.items.map((item) => shape(item).join('/')).join('|')}]`;
    if (one.kind === 'quote') return `>${shape(one.blocks).join('/')}`;
    if (one.kind === 'table') return `table ${one.head.map(words).join(',')} ${one.rows.map((row) => row.map(words).join(',')).join(';')}`;
    return one.kind === 'code' ? `code:${one.text}` : one.kind;
  });
const parsed = (text: string, sources = 2): string[] => shape(parseMarkdown(text, (n) => n >= 1 && n <= sources));

test('blocks of Markdown', () => {
  expect(parsed('# A *b*\n\nOne\ntwo  \nthree\n\n---\n> q\n> - x\n\n```js\n<b>\n# no\n```\nend')).toEqual(['# A em(b)', 'One\ntwo⏎three', 'line', '>q/-[x]', 'code:<b>\n# no', 'end']);
  expect(parsed('- a\n- b\n  - c\n  more\n\n  par\n- d\n\nafter')).toEqual(['-[a|b/-[c\nmore]/par|d]', 'after']);
  expect(parsed('3. a\n4. b\n\n- c')).toEqual(['3[a|b]', '-[c]']);
  expect(parsed('| a | b |\n|---|:-:|\n| 1 | x \\| y |\n| 2 |\n\nz')).toEqual(['table a,b 1,x | y;2,', 'z']);
  expect(parsed('```\nnever closed')).toEqual(['code:never closed']);
});

test('what stands in a line', () => {
  expect(parsed('**a _b_** ~~c~~ `*d*` snake_case_name 2*3*4 \\*e\\*')).toEqual(['strong(a em(b)) del(c) `*d*` snake_case_name 2em(3)4 *e*']);
  expect(parsed('Yes [1], no [3], both [1, 2], none [1, 9], code `[1]`')).toEqual(['Yes {1}, no [3], both {1}{2}, none [1, 9], code `[1]`']);
});

test('links lead to http and https only, and pictures are links', () => {
  expect(parsed('[a](https://example.org/x_(y)) https://example.org/a. <http://example.org>')).toEqual(['<https://example.org/x_(y) a> <https://example.org/a https://example.org/a>. <http://example.org/ http://example.org>']);
  expect(parsed('![p](https://example.org/p.png?q=secret)')).toEqual(['<https://example.org/p.png?q=secret p>']);
  for (const address of ['javascript:alert(1)', 'JaVaScRiPt:alert(1)', 'data:text/html,x', '//example.org', '/console', 'vbscript:x', 'https://me:secret@example.org', 'file:///etc']) {
    expect(safeHref(address)).toBeUndefined();
    expect(parsed(`[a](${address})`).join('')).not.toContain('<');
  }
  expect(parsed('<img src=x onerror=alert(1)> <script>')).toEqual(['<img src=x onerror=alert(1)> <script>']);
});

test('hostile texts end soon', () => {
  const begun = performance.now();
  for (const piece of ['*', '_', '[', '`', '> ', '- ', '**a ', '![', '| ', '](', '~~a', '1. ', '\\', '  ']) parseMarkdown(piece.repeat(5000));
  expect(performance.now() - begun).toBeLessThan(5000);
});
