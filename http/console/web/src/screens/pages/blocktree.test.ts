import { expect, test } from 'vitest';
import { blockAtLine, blockAtPosition, duplicateBlock, flatten, insertBlock, languagesIn, moveBlock, moveTo, pageOfBlock, placeAfter, readTree, removeBlock, wrapBlock } from './blocktree.ts';

const page = `slug: home
name: Home
blocks:
  - slug: Header
    title: Shop
  - slug: TabsView
    tabs:
      - text: One
        content:
          slug: RichText
          content: '# Hello'
      - text: Two
        content:
          - slug: Image
          - slug: crm.Card
            blocks:
              - slug: KPI
                title:
                  fr: Ventes
                  en: Sales
  - slug: Footer
    payload:
      content:
        slug: NoBlock
`;

const tree = readTree(page)!;
const kinds = (text: string): string => flatten(readTree(text)!).map(({ block, depth }) => '-'.repeat(depth) + block.kind).join(' ');

test('the tree has the blocks with their places', () => {
  expect(flatten(tree).map(({ block }) => [block.position, block.kind, block.text, block.line])).toEqual([
    ['0', 'Header', 'Shop', 4], ['1', 'TabsView', '', 6], ['1.0', 'RichText', 'Hello', 10], ['1.1', 'Image', '', 14], ['1.2', 'crm.Card', '', 15], ['1.2.0', 'KPI', 'Sales', 17], ['2', 'Footer', '', 21],
  ]);
  expect(readTree('blocks: [')).toBeUndefined();
  expect(readTree('name: x')).toEqual([]);
});

test('a line and a position of the page lead to a block', () => {
  expect(blockAtLine(tree, 11)?.position).toBe('1.0');
  expect(blockAtLine(tree, 8)?.position).toBe('1');
  expect(blockAtLine(tree, 1)).toBeUndefined();
  expect(blockAtPosition(tree, '1.2:3.0')?.kind).toBe('KPI');
  expect(blockAtPosition(tree, '0.4')?.kind).toBe('Header');
});

test('a block is inserted, copied, wrapped and taken away, and the rest of the text stays', () => {
  const inserted = insertBlock(page, ['blocks'], 1, 'slug: KPI\ntitle: New\n')!;
  expect(inserted.path).toEqual(['blocks', 1]);
  expect(inserted.text).toBe(page.replace('  - slug: TabsView', '  - slug: KPI\n    title: New\n  - slug: TabsView'));
  expect(insertBlock('name: x\n', ['blocks'], 5, 'slug: KPI\n')!.text).toBe('name: x\nblocks:\n  - slug: KPI\n');
  expect(removeBlock(inserted.text, inserted.path)!.text).toBe(page);
  expect(kinds(duplicateBlock(page, ['blocks', 0])!.text)).toContain('Header Header TabsView');
  expect(duplicateBlock(page, ['blocks', 1, 'tabs', 0, 'content'])).toBeUndefined();
  expect(kinds(wrapBlock(page, ['blocks', 0])!.text)).toContain('BlocksList -Header TabsView');
  expect(kinds(wrapBlock(page, ['blocks', 1, 'tabs', 0, 'content'])!.text)).toContain('-BlocksList --RichText');
  expect(placeAfter(['blocks', 1], 3)).toEqual({ list: ['blocks'], at: 2 });
  expect(placeAfter(undefined, 3)).toEqual({ list: ['blocks'], at: 3 });
});

test('a block moves up, down, in and out', () => {
  const up = moveBlock(page, tree, ['blocks', 2], 'up')!;
  expect([kinds(up.text), up.path]).toEqual(['Header Footer TabsView -RichText -Image -crm.Card --KPI', ['blocks', 1]]);
  expect(moveBlock(up.text, readTree(up.text)!, up.path, 'down')!.text).toBe(page);
  expect(moveBlock(page, tree, ['blocks', 0], 'up')).toBeUndefined();
  expect(moveBlock(page, tree, ['blocks', 2], 'down')).toBeUndefined();
  const inside = moveBlock(page, tree, ['blocks', 2], 'in')!;
  expect([kinds(inside.text), inside.path]).toEqual(['Header TabsView -RichText -Image -crm.Card --KPI -Footer', ['blocks', 1, 'blocks', 0]]);
  const out = moveBlock(inside.text, readTree(inside.text)!, inside.path, 'out')!;
  expect([out.path, out.text]).toEqual([['blocks', 2], page]);
  expect(moveBlock(page, tree, ['blocks', 2], 'in', (kind) => kind !== 'TabsView')).toBeUndefined();
  expect(moveTo(page, ['blocks', 1], ['blocks', 1, 'tabs', 1, 'content'], 0)).toBeUndefined();
  const earlier = moveTo(page, ['blocks', 0], ['blocks', 1, 'tabs', 1, 'content'], 1)!;
  expect([kinds(earlier.text), earlier.path]).toEqual(['TabsView -RichText -Image -Header -crm.Card --KPI Footer', ['blocks', 0, 'tabs', 1, 'content', 1]]);
});

test('an own block is shown as a page', () => {
  expect(pageOfBlock('name: Card\nblock: Hero\nconfig:\n  title: Hi\nblocks:\n  - slug: KPI\ncss: ":block { color: red }"\n', 'Card')).toBe(
    'name: preview\nblocks:\n  - slug: Hero\n    title: Hi\n    blocks:\n      - slug: KPI\n    css: ":block { color: red }"\n',
  );
});

test('languages of texts', () => {
  expect(languagesIn({ name: { en: 'a', fr: 'b' }, blocks: [{ title: { 'pt-BR': 'c' }, values: { id: 1 } }] })).toEqual(['en', 'fr', 'pt-BR']);
});
