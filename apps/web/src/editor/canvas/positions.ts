import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { Drawing, Point } from "@uncaged/workflow/editing";
import { useMemo } from "react";
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

async function laidOut(task: LayoutTask): Promise<LayoutResult> {
  if (task.nodes.length <= mostHere) return layoutOf(task);
  const worker = new Worker(new URL("./layout-worker.ts", import.meta.url), { type: "module" });
  try {
    return await new Promise<LayoutResult>((resolve, reject) => {
      worker.addEventListener("message", ({ data }: MessageEvent<LayoutResult>) => resolve(data));
      worker.addEventListener("error", reject);
      worker.postMessage(task, []);
    });
  } finally {
    worker.terminate();
  }
}

/** Computes the positions of all nodes of a drawing. */
export const layOut = async (drawing: Drawing): Promise<ReadonlyMap<string, Point>> =>
  new Map((await laidOut(taskOf(drawing))).boxes);

/** Positions of the nodes: from the document, else from the layout. Omits nodes until the layout has placed them. */
export function usePositions(drawing: Drawing): ReadonlyMap<string, Point> {
  const isPlaced = drawing.nodes.every(({ at }) => at !== null);
  const isHere = drawing.nodes.length <= mostHere;
  const shape = useMemo(
    () => (isPlaced ? "" : JSON.stringify(taskOf(drawing))),
    [drawing, isPlaced],
  );
  const here = useMemo(
    () => (isHere && shape !== "" ? layoutOf(JSON.parse(shape) as LayoutTask) : null),
    [shape, isHere],
  );
  const { data: there } = useQuery({
    queryKey: ["layout", shape],
    queryFn: () => laidOut(JSON.parse(shape) as LayoutTask),
    enabled: !isHere && shape !== "",
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  return useMemo(() => {
    const placed = new Map((here ?? there)?.boxes);
    const positions = new Map<string, Point>();
    for (const { id, at } of drawing.nodes) {
      const position = at ?? placed.get(id);
      if (position) positions.set(id, position);
    }
    return positions;
  }, [drawing, here, there]);
}
