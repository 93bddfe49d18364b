import type { Status } from "@uncaged/workflow-server/api-types";
import { liveOf } from "../../editor/canvas/live.ts";
import type { LiveNode } from "../../editor/kind.ts";
import { nodeIdOf } from "../../lib/thread-log.ts";
import { isLive } from "../../lib/threads.ts";
import { isNode, stateOf } from "../../thread/graph/graph.ts";
import type { TraceRow } from "../../thread/trace/rows.ts";

/** The state of each node of a document in a run, from its newest row. */
export function liveNodes(
  rows: readonly TraceRow[],
  status: Status | null,
  now: number,
): ReadonlyMap<string, LiveNode> {
  const nodes = new Map<string, LiveNode>();
  const isHalted = status !== null && !isLive(status);
  for (const row of rows) {
    const { card, id: attempt } = row;
    if (!isNode(row) || card?.attempt.attempt !== attempt) continue;
    const id = nodeIdOf(card);
    if (id === null || id.startsWith("__")) continue;
    const state = stateOf(row);
    const live = liveOf(card, (nodes.get(id)?.run ?? 0) + 1, now);
    // Without a worker, a running attempt is lost, even if the run may continue the attempt.
    nodes.set(id, { ...live, state: state === "running" && isHalted ? "lost" : state });
  }
  return nodes;
}
