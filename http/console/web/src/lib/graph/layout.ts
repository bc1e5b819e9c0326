import { Graph, layout } from '@dagrejs/dagre';

/* Where the boxes and the lines of a graph stand. It runs in a worker: a large graph takes seconds. */

export interface Box {
  id: string;
  width: number;
  height: number;
}

export interface Link {
  from: string;
  to: string;
  /** Room for a text on the line. */
  label?: { width: number; height: number };
  /** How much it should be straight and short; 1 without it. */
  weight?: number;
}

export interface GraphShape {
  boxes: Box[];
  links: Link[];
  /** `down` for a flow, `right` for what depends on what. */
  direction: 'down' | 'right';
  /** Width divided by height that several parts are arranged for. */
  ratio?: number;
}

export interface Point {
  x: number;
  y: number;
}

export interface Placement {
  width: number;
  height: number;
  /** Left upper corners, by id. */
  boxes: Record<string, Point>;
  /** In the order of the links: the corners of the line, and the middle of its text. */
  links: { points: Point[]; label?: Point }[];
}

const gap = 24;

/** Places every part of a graph by itself, and the parts side by side: a part that nothing connects to another has no place in its layers. */
export function placeGraph(shape: GraphShape): Placement {
  const placement: Placement = { width: 0, height: 0, boxes: {}, links: shape.links.map(() => ({ points: [] })) };
  const parts = partsOf(shape).map((part) => (part.boxes.length === 1 ? loneBox(part) : placePart(part, shape.direction)));
  parts.sort((a, b) => Number(a.single) - Number(b.single) || b.height - a.height || b.width - a.width);
  const corners = arrange(parts, shape.ratio ?? 1.6);
  parts.forEach((part, i) => {
    const { x, y } = corners[i]!;
    const move = (at: Point): Point => ({ x: at.x + x, y: at.y + y });
    for (const [id, at] of part.boxes) placement.boxes[id] = move(at);
    for (const { index, points, label } of part.links) placement.links[index] = { points: points.map(move), ...(label ? { label: move(label) } : {}) };
    placement.width = Math.max(placement.width, x + part.width);
    placement.height = Math.max(placement.height, y + part.height);
  });
  return placement;
}

/** Corners of parts in rows, of which those are taken that fill a window of this ratio best. */
function arrange(parts: PlacedPart[], ratio: number): Point[] {
  const area = parts.reduce((sum, part) => sum + (part.width + gap) * (part.height + gap), 0);
  const widest = Math.max(0, ...parts.map((part) => part.width));
  let best: { corners: Point[]; size: number } = { corners: [], size: Infinity };
  for (const factor of [1, 1.25, 1.5, 2]) {
    const rowWidth = Math.max(widest, Math.sqrt(area * ratio) * factor);
    const corners: Point[] = [];
    let [x, y, width, rowHeight] = [0, 0, 0, 0];
    parts.forEach((part, i) => {
      // What is connected to nothing begins a row of its own.
      if (x > 0 && (x + part.width > rowWidth || (part.single && !parts[i - 1]!.single))) {
        y += rowHeight + gap;
        x = rowHeight = 0;
      }
      corners.push({ x, y });
      x += part.width + gap;
      width = Math.max(width, x - gap);
      rowHeight = Math.max(rowHeight, part.height);
    });
    const size = Math.max(width / ratio, y + rowHeight);
    if (size < best.size) best = { corners, size };
  }
  return best.corners;
}

interface Part {
  boxes: Box[];
  links: (Link & { index: number })[];
}

interface PlacedPart {
  width: number;
  height: number;
  single: boolean;
  boxes: [id: string, at: Point][];
  links: { index: number; points: Point[]; label?: Point }[];
}

/** The connected parts, each with its boxes and links in their order. */
function partsOf({ boxes, links }: GraphShape): Part[] {
  const parent = new Map(boxes.map((box) => [box.id, box.id]));
  const rootOf = (id: string): string => {
    let root = id;
    while (parent.get(root) !== root) root = parent.get(root)!;
    parent.set(id, root);
    return root;
  };
  const known = links.map((link, index) => ({ ...link, index })).filter((link) => parent.has(link.from) && parent.has(link.to));
  for (const { from, to } of known) parent.set(rootOf(from), rootOf(to));
  const parts = new Map<string, Part>();
  for (const box of boxes) {
    const root = rootOf(box.id);
    if (!parts.has(root)) parts.set(root, { boxes: [], links: [] });
    parts.get(root)!.boxes.push(box);
  }
  for (const link of known) parts.get(rootOf(link.from))!.links.push(link);
  return [...parts.values()];
}

/** A box that is connected to nothing but itself. */
function loneBox({ boxes: [box] }: Part): PlacedPart {
  return { width: box!.width, height: box!.height, single: true, boxes: [[box!.id, { x: 0, y: 0 }]], links: [] };
}

/**
 * With more boxes than this, layers of all links may take minutes: a tree of them is placed, and the other links are
 * drawn across it. A flow has few links that pass many layers, so that more of it can be placed.
 */
const mostLayered = { down: 400, right: 150 };

/** Links that lead to every box once, from the boxes that nothing leads to. */
function treeOf({ boxes, links }: Part): Part['links'] {
  const leaving = new Map<string, Part['links']>();
  const entered = new Set<string>();
  for (const link of links) {
    leaving.set(link.from, [...(leaving.get(link.from) ?? []), link]);
    entered.add(link.to);
  }
  const reached = new Set<string>();
  const tree: Part['links'] = [];
  for (const { id } of [...boxes.filter((box) => !entered.has(box.id)), ...boxes]) {
    if (reached.has(id)) continue;
    reached.add(id);
    const queue = [id];
    for (let from = queue.shift(); from !== undefined; from = queue.shift()) {
      for (const link of leaving.get(from) ?? []) {
        if (reached.has(link.to)) continue;
        reached.add(link.to);
        tree.push(link);
        queue.push(link.to);
      }
    }
  }
  return tree;
}

/** A straight line from the side of a box to that of another. */
function straight(from: Box & Point, to: Box & Point): Point[] {
  const right = to.x >= from.x + from.width;
  if (right || to.x + to.width <= from.x) {
    return [{ x: right ? from.x + from.width : from.x, y: from.y + from.height / 2 }, { x: right ? to.x : to.x + to.width, y: to.y + to.height / 2 }];
  }
  const below = to.y > from.y;
  return [{ x: from.x + from.width / 2, y: below ? from.y + from.height : from.y }, { x: to.x + to.width / 2, y: below ? to.y : to.y + to.height }];
}

function placePart(part: Part, direction: GraphShape['direction']): PlacedPart {
  const large = part.boxes.length > mostLayered[direction];
  const layered = large ? treeOf(part) : part.links;
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: direction === 'down' ? 'TB' : 'LR', nodesep: gap, edgesep: 16, ranksep: direction === 'down' ? 32 : 64, ranker: large ? 'longest-path' : 'network-simplex' });
  for (const { id, width, height } of part.boxes) graph.setNode(id, { width, height });
  for (const { from, to, index, label, weight = 1 } of layered) {
    if (from !== to) graph.setEdge(from, to, { width: label?.width ?? 0, height: label?.height ?? 0, labelpos: 'c', weight }, String(index));
  }
  layout(graph as never, { disableOptimalOrderHeuristic: large });
  const placed: PlacedPart = { width: 0, height: 0, single: false, boxes: [], links: [] };
  const corners: Point[] = [];
  const at = new Map<string, Box & Point>();
  for (const box of part.boxes) {
    const { x, y } = graph.node(box.id) as Point;
    at.set(box.id, { ...box, x: x - box.width / 2, y: y - box.height / 2 });
    corners.push({ x: x - box.width / 2, y: y - box.height / 2 }, { x: x + box.width / 2, y: y + box.height / 2 });
  }
  for (const edge of graph.edges()) {
    const { points, x, y, width, height } = graph.edge(edge) as { points: Point[]; x?: number; y?: number; width: number; height: number };
    const label = width > 0 && x !== undefined && y !== undefined ? { x, y } : undefined;
    placed.links.push({ index: Number(edge.name), points, ...(label ? { label } : {}) });
    corners.push(...points);
    if (label) corners.push({ x: label.x - width / 2, y: label.y - height / 2 }, { x: label.x + width / 2, y: label.y + height / 2 });
  }
  if (large) {
    const drawn = new Set(layered);
    for (const link of part.links) if (!drawn.has(link) && link.from !== link.to) placed.links.push({ index: link.index, points: straight(at.get(link.from)!, at.get(link.to)!) });
  }
  // A line may leave the rectangle of the boxes: everything is moved so that it begins at zero.
  const least = { x: Math.min(...corners.map((one) => one.x)), y: Math.min(...corners.map((one) => one.y)) };
  const move = ({ x, y }: Point): Point => ({ x: Math.round(x - least.x), y: Math.round(y - least.y) });
  placed.width = Math.ceil(Math.max(...corners.map((one) => one.x)) - least.x);
  placed.height = Math.ceil(Math.max(...corners.map((one) => one.y)) - least.y);
  placed.boxes = [...at.values()].map((box) => [box.id, move(box)]);
  placed.links = placed.links.map((link) => ({ ...link, points: link.points.map(move), ...(link.label ? { label: move(link.label) } : {}) }));
  return placed;
}
