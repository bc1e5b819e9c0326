import { workerAddress } from '../worker.ts';
import type { GraphShape, Placement } from './layout.ts';
import workerUrl from './layout.worker.ts?worker&url';

/** After this a graph counts as too large to be drawn. */
const mostTime = 20_000;

/** A graph that changes, with the places of its boxes and lines: the last one stays until the next is placed. Make it while a component is set up. */
export class PlacedGraph<G> {
  drawn = $state.raw<{ graph: G; placement: Placement } | undefined>(undefined);
  /** It took too long, or the worker could not be loaded. */
  failed = $state(false);

  private placed = $state.raw<{ key: string; placement: Placement } | undefined>(undefined);

  constructor(graphOf: () => G | undefined, shapeOf: (graph: G) => GraphShape) {
    // A graph of the same shape has the same places: only what stands in its boxes has changed.
    const graph = $derived(graphOf());
    const key = $derived(graph === undefined ? '' : JSON.stringify(shapeOf(graph)));
    $effect(() => {
      if (!key) return;
      const shapeKey = key;
      const worker = new Worker(workerAddress(workerUrl), { type: 'module', name: 'svc-layout' });
      const fail = (): void => {
        worker.terminate();
        this.failed = true;
      };
      const timer = setTimeout(fail, mostTime);
      worker.onerror = fail;
      worker.onmessage = ({ data }: MessageEvent<Placement>) => {
        clearTimeout(timer);
        worker.terminate();
        this.failed = false;
        this.placed = { key: shapeKey, placement: data };
      };
      worker.postMessage(JSON.parse(shapeKey));
      return () => {
        clearTimeout(timer);
        worker.terminate();
      };
    });
    $effect(() => {
      if (graph !== undefined && this.placed?.key === key) this.drawn = { graph, placement: this.placed.placement };
    });
  }
}
