import type { Status } from "@uncaged/workflow-server/api-types";
import { liveOf } from "../../editor/canvas/live.ts";
import type { LiveNode } from "../../editor/kind.ts";
import { type Card, nodeIdOf, questionAmong } from "../../lib/thread-log.ts";
import { isLive } from "../../lib/threads.ts";

/** What each step does in a run: its newest attempt, with what ran in its child workflow. */
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
    // What has no worker any more has not ended, and goes on when the run does.
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
