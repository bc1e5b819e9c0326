export type Direction = 'up' | 'down' | 'left' | 'right';

interface PlacedBox {
  id: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The box that an arrow key leads to: the nearest one on that side. What is off the straight way counts double, and comes last when it is more beside than ahead. */
export function nearestInDirection(boxes: PlacedBox[], from: string, direction: Direction): string | undefined {
  const middle = (box: PlacedBox): { x: number; y: number } => ({ x: box.x + box.width / 2, y: box.y + box.height / 2 });
  const here = boxes.find((box) => box.id === from);
  if (!here) return boxes[0]?.id;
  const at = middle(here);
  let best: { id: string; distance: number } | undefined;
  for (const box of boxes) {
    const to = middle(box);
    const [along, off] = { up: [at.y - to.y, to.x - at.x], down: [to.y - at.y, to.x - at.x], left: [at.x - to.x, to.y - at.y], right: [to.x - at.x, to.y - at.y] }[direction] as [number, number];
    if (box.id === from || along <= 1) continue;
    const distance = along + 2 * Math.abs(off) + (Math.abs(off) > 2 * along ? 1e6 : 0);
    if (!best || distance < best.distance) best = { id: box.id, distance };
  }
  return best?.id;
}
