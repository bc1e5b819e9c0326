import { placeGraph, type GraphShape } from './layout.ts';

/* Places one graph per message, in their order. */
onmessage = ({ data }: MessageEvent<GraphShape>) => postMessage(placeGraph(data));
