// Places of boxes and arrows, by dagre. It is loaded only where a picture is shown.

import { Graph, layout } from "@dagrejs/dagre";
import type { Arrow, Box, Point } from "./wiring";

/** A picture with places. Boxes have their middles. */
export type Placed = { left: number; top: number; width: number; height: number; boxes: (Box & Point)[]; arrows: (Arrow & { points: Point[] })[] };

/** The space around the picture. */
const MARGIN = 16;

/** Give boxes and arrows their places, from left to right. */
export function placed(boxes: Box[], arrows: Arrow[]): Placed {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: "LR", nodesep: 22, ranksep: 70, edgesep: 10 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const box of boxes) graph.setNode(box.id, { width: box.width, height: box.height });
  for (const arrow of arrows) graph.setEdge(arrow.from, arrow.to, {}, arrow.kind);
  layout(graph);
  const all = boxes.map((box) => ({ ...box, ...(graph.node(box.id) as unknown as Point & { width: number; height: number }) }));
  const lines = arrows.map((arrow) => ({ ...arrow, points: (graph.edge(arrow.from, arrow.to, arrow.kind) as unknown as { points?: Point[] })?.points ?? [] }));
  // Arrows may lead around all boxes.
  const points = lines.flatMap((one) => one.points);
  const xs = [...all.flatMap((one) => [one.x - one.width / 2, one.x + one.width / 2]), ...points.map((one) => one.x)];
  const ys = [...all.flatMap((one) => [one.y - one.height / 2, one.y + one.height / 2]), ...points.map((one) => one.y)];
  const [left, top] = [Math.min(0, ...xs) - MARGIN, Math.min(0, ...ys) - MARGIN];
  return { left, top, width: Math.max(0, ...xs) + MARGIN - left, height: Math.max(0, ...ys) + MARGIN - top, boxes: all, arrows: lines };
}
