import type { Drawing, Point } from "@uncaged/workflow/editing";
import { useEffect, useMemo, useRef, useState } from "react";
import { inset, leadOf, sizeOf } from "./geometry.ts";
import { type LayoutResult, type LayoutTask, layoutOf } from "../../ui/layout.ts";

/** Maximum number of nodes for a layout in the page. Larger layouts run in a worker. */
const mostHere = 40;

const taskOf = ({ nodes, edges }: Drawing): LayoutTask => ({
  nodes: nodes.map((node) => ({
    id: node.id,
    parent: node.parent,
    isContainer: node.isContainer,
    size: sizeOf(node),
    lead: leadOf(node),
  })),
  edges: edges.flatMap(({ source, target }) => (source === target ? [] : { source, target })),
  gap: { node: 48, rank: 90 },
  inset,
  isWide: nodes.some(({ ports }) =>
    ports.some(({ role, side }) => role === "out" && side === "right"),
  ),
});

let worker: Worker | null = null;
let asked = 0;
const pending = new Map<number, (result: LayoutResult) => void>();

function workerOf(): Worker {
  if (worker) return worker;
  worker = new Worker(new URL("./layout-worker.ts", import.meta.url), { type: "module" });
  worker.addEventListener(
    "message",
    ({ data: { id, result } }: MessageEvent<{ id: number; result: LayoutResult }>) => {
      pending.get(id)?.(result);
      pending.delete(id);
    },
  );
  return worker;
}

async function laidOut(task: LayoutTask): Promise<LayoutResult> {
  if (task.nodes.length <= mostHere) return layoutOf(task);
  asked += 1;
  const id = asked;
  const result = new Promise<LayoutResult>((resolve) => pending.set(id, resolve));
  workerOf().postMessage({ id, task }, []);
  return await result;
}

/** Computes the positions of all nodes of a drawing. */
export const layOut = async (drawing: Drawing): Promise<ReadonlyMap<string, Point>> =>
  new Map((await laidOut(taskOf(drawing))).boxes);

/** Positions of the nodes: from the document, else from the layout. Omits nodes until the layout has placed them. */
export function usePositions(drawing: Drawing): ReadonlyMap<string, Point> {
  const isPlaced = drawing.nodes.every(({ at }) => at !== null);
  const shape = useMemo(
    () => (isPlaced ? "" : JSON.stringify(taskOf(drawing))),
    [drawing, isPlaced],
  );
  const here = useMemo(() => {
    if (shape === "" || drawing.nodes.length > mostHere) return null;
    return new Map(layoutOf(JSON.parse(shape) as LayoutTask).boxes);
  }, [shape]);
  const [there, setThere] = useState<ReadonlyMap<string, Point> | null>(null);
  const newest = useRef("");
  useEffect(() => {
    newest.current = shape;
    if (shape === "" || here) return;
    void laidOut(JSON.parse(shape) as LayoutTask).then((result) => {
      if (newest.current === shape) setThere(new Map(result.boxes));
    });
  }, [shape, here]);
  const placed = here ?? there;
  return useMemo(() => {
    const positions = new Map<string, Point>();
    for (const { id, at } of drawing.nodes) {
      const position = at ?? placed?.get(id);
      if (position) positions.set(id, position);
    }
    return positions;
  }, [drawing, placed]);
}
