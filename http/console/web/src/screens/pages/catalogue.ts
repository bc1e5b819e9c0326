import type { Schema } from '../../lib/api/client.ts';
import { localized } from '../../lib/i18n.svelte.ts';

/** A kind of block that can be put on a page. */
export interface BlockKind {
  /** As a page names it: `Header`, `Product`, `crm.Card`. */
  kind: string;
  origin: 'builtIn' | 'own' | 'app';
  /** What it shows, in a sentence. */
  text: string;
  /** A block of this kind that works, as YAML. */
  example: string;
}

/** The built-in kinds, each with an example that works. The sentences are messages: t.pages.kinds. */
export const builtIn = {
  Header: 'slug: Header\ntitle: Garden shop\nnav:\n  - text: Home\n    type: internal\n    value: index\n',
  Hero: 'slug: Hero\ntitle: Everything for your garden\nlead: Seeds and tools, delivered within two days.\nbuttons:\n  - text: Order now\n    type: event\n    value: order.begun\n    theme: primary\n',
  RichText: 'slug: RichText\ncontent: |\n  ## A heading\n  Text with **bold** words and [links](https://example.org).\n',
  Image: 'slug: Image\nsrc: https://example.org/picture.png\nalt: What the picture shows\n',
  Button: 'slug: Button\ntext: Go on\ntype: event\nvalue: continued\n',
  Buttons: 'slug: Buttons\nbuttons:\n  - text: Save\n    type: event\n    value: saved\n    theme: primary\n  - text: Back\n    type: internal\n    value: index\n',
  Action: 'slug: Action\ntext: Read more\ntype: external\nvalue: https://example.org\n',
  Form: 'slug: Form\ntitle: Write to us\nonSubmit: message.sent\nsubmitLabel: Send\nschema:\n  type: object\n  required:\n    - text\n  properties:\n    name:\n      type: string\n      title: Name\n    text:\n      type: string\n      title: Message\n      ui:widget: textarea\n',
  DataTable: 'slug: DataTable\ntitle: Orders\ncolumns:\n  - label: Number\n    key: id\n  - label: Total\n    key: total\ndata:\n  - id: A-1\n    total: 48.5\n  - id: A-2\n    total: 129\n',
  Cards: 'slug: Cards\ncards:\n  - title: First\n    description: What the first one is\n  - title: Second\n    description: What the second one is\n',
  KPI: 'slug: KPI\ntitle: Turnover\nvalue: 48250\nunit: €\ntrend: 3.2\n',
  Charts: 'slug: Charts\ntitle: Orders by month\ntype: column\ndata:\n  - - Month\n    - Orders\n  - - Jan\n    - 120\n  - - Feb\n    - 210\n',
  TabsView: 'slug: TabsView\ntabs:\n  - text: First\n    content:\n      - slug: RichText\n        content: What the first tab says.\n  - text: Second\n    content:\n      - slug: RichText\n        content: What the second tab says.\n',
  Collapse: 'slug: Collapse\nitems:\n  - label: A question\n    content: Its answer.\n',
  BlocksList: 'slug: BlocksList\nblocks:\n  - slug: RichText\n    content: One after the other.\n',
  BlocksGrid: 'slug: BlocksGrid\ncolumns: 2\nblocks:\n  - slug: KPI\n    title: Orders\n    value: 1284\n  - slug: KPI\n    title: Returns\n    value: 12\n',
  Modal: 'slug: Modal\ntitle: More about it\nbutton:\n  text: Show more\nblocks:\n  - slug: RichText\n    content: What the dialog says.\n',
  Toast: 'slug: Toast\ntoastOn: order.saved\n',
  Breadcrumbs: 'slug: Breadcrumbs\nlinks:\n  - text: Home\n    value: index\n  - text: Here\n',
  Signin: 'slug: Signin\n',
  Footer: 'slug: Footer\ncontent: Garden shop, Example Street 1\n',
  Loading: 'slug: Loading\ntext: Loading\n',
} as const;
export type BuiltInKind = keyof typeof builtIn;

/** Whether blocks can be put into one of this kind. What an own block does with them is its affair. */
export const takesBlocks = (kind: string): boolean => !(kind in builtIn) || ['BlocksList', 'BlocksGrid', 'Modal', 'Footer'].includes(kind);

/** All kinds that a page of this workspace can show: own ones win over built-in ones of the same name. */
export function kindsOf(workspace: Schema<'Workspace'> | undefined, sentences: Record<string, string>): BlockKind[] {
  const own = Object.entries((workspace?.blocks ?? {}) as Record<string, Described>).map(([name, block]) => ({ kind: name, origin: 'own' as const, text: sentenceOf(block), example: `slug: ${name}\n` }));
  const names = new Set(own.map((one) => one.kind));
  const instances = Object.values((workspace?.imports ?? {}) as unknown as Record<string, Schema<'AppInstanceDetail'>>);
  return [
    ...own,
    ...instances.filter((one) => !one.disabled && !one.missing).flatMap((one) => one.blocks.map((block) => ({ kind: block.slug, origin: 'app' as const, text: sentenceOf(block), example: `slug: ${block.slug}\n` }))),
    ...Object.entries(builtIn).filter(([kind]) => !names.has(kind)).map(([kind, example]) => ({ kind, origin: 'builtIn' as const, text: sentences[kind] ?? '', example })),
  ];
}

interface Described {
  name?: unknown;
  description?: unknown;
}
const sentenceOf = (block: Described): string => localized(block.description) || localized(block.name);

/** Kinds that match what is typed, those whose name does first. */
export function findKinds(kinds: BlockKind[], search: string): BlockKind[] {
  const wanted = search.trim().toLowerCase();
  const named = kinds.filter((one) => one.kind.toLowerCase().includes(wanted));
  return [...named.filter((one) => one.kind.toLowerCase().startsWith(wanted)), ...named.filter((one) => !one.kind.toLowerCase().startsWith(wanted)), ...kinds.filter((one) => !named.includes(one) && one.text.toLowerCase().includes(wanted))];
}

/** Why a block cannot be shown: its app is not installed or not enabled, or nobody knows its kind. */
export function whyUnknown(kind: string, kinds: BlockKind[], workspace: Schema<'Workspace'> | undefined): { instance?: string } | undefined {
  if (kinds.some((one) => one.kind === kind)) return undefined;
  const instance = kind.includes('.') ? kind.slice(0, kind.lastIndexOf('.')) : '';
  const installed = (workspace?.imports ?? {}) as unknown as Record<string, Schema<'AppInstanceDetail'>>;
  return instance && !(instance in installed) ? { instance } : {};
}
