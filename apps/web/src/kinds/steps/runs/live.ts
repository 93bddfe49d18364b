import type { Status } from "@uncaged/workflow-server/api-types";
import { liveOf } from "../../../editor/canvas/live.ts";
import type { LiveNode } from "../../../editor/kind.ts";
import { type Card, nodeIdOf, questionAmong } from "../../../lib/thread-log.ts";
import { isLive } from "../../../lib/threads.ts";

/** The state of each step in a run, from its newest attempt and its child workflow. */
export function liveNodes(
  cards: readonly Card[],
  status: Status | null,
  now: number,
): ReadonlyMap<string, LiveNode> {
  const nodes = new Map<string, LiveNode>();
  const isHalted = status !== null && !isLive(status);
  for (const card of cards) {
    const id = nodeIdOf(card);
    if (id === null || id.startsWith("__")) continue;
    const live = liveOf(card, (nodes.get(id)?.run ?? 0) + 1, now);
    // Without a worker, a running attempt is lost; the run may continue it.
    nodes.set(id, live.state === "running" && isHalted ? { ...live, state: "lost" } : live);
  }
  const asked = status === "waiting" ? questionAmong(cards)?.meta.stepID : null;
  if (typeof asked === "string") {
    const id = asked.split("/", 1)[0] ?? asked;
    const before = nodes.get(id);
    nodes.set(id, { tokens: 0, cost: 0, durationMs: null, run: 1, ...before, state: "waiting" });
  }
  return nodes;
}
