import type { IconName } from './icons.ts';

/** Something that took time, or happened at a moment, with what came of it below. */
export interface AxisNode {
  id: string;
  label: string;
  icon: IconName;
  /** Milliseconds since 1970. */
  start: number;
  /** Equal to start: a moment. Absent: it still goes on. */
  end?: number;
  /** Parts of it in which it only waited: for an event, for time, for its turn. */
  waits?: { start: number; end?: number }[];
  state?: 'ok' | 'error' | 'running' | 'plain';
  /** Behind the label, such as a summary. */
  note?: string;
  children: AxisNode[];
}

/** A row of the axis as it is drawn. */
export interface AxisRow {
  node: AxisNode;
  depth: number;
  parent: string | undefined;
  open: boolean;
}

/** The nodes as rows, without what is below closed ones. */
export function axisRows(nodes: AxisNode[], isOpen: (node: AxisNode) => boolean, depth = 0, parent?: string): AxisRow[] {
  return nodes.flatMap((node) => {
    const open = node.children.length > 0 && isOpen(node);
    return [{ node, depth, parent, open }, ...(open ? axisRows(node.children, isOpen, depth + 1, node.id) : [])];
  });
}

/** First and last moment of the nodes and all below them. What goes on reaches to `now`. */
export function axisSpan(nodes: AxisNode[], now: number): { from: number; to: number } {
  let from = Infinity;
  let to = -Infinity;
  const visit = (list: AxisNode[]): void => {
    for (const node of list) {
      from = Math.min(from, node.start);
      to = Math.max(to, node.end ?? now);
      visit(node.children);
    }
  };
  visit(nodes);
  if (from > to) return { from: now, to: now + 1 };
  return { from, to: to > from ? to : from + 1 };
}

/** Round steps for marks on an axis of this length: 1, 2 or 5 times a power of ten, and minutes and hours above a minute. */
export function axisTicks(length: number, wanted = 5): number[] {
  const rough = length / wanted;
  const nice = [60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 14_400_000, 43_200_000, 86_400_000, 604_800_000];
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
  const step = rough >= 30_000 ? (nice.find((one) => one >= rough) ?? Math.ceil(rough / 604_800_000) * 604_800_000) : ([1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? 10 * power);
  const ticks = [];
  for (let at = 0; at <= length; at += step) ticks.push(at);
  return ticks;
}
