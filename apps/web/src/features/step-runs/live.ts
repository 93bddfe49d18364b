import { totalTokens } from "@uncaged/workflow";
import type { Status } from "@uncaged/workflow-server/api-types";
import type { LiveNode } from "../../editor/kind.ts";
import { type Card, durationOf, nodeIdOf, questionAmong } from "../../lib/thread-log.ts";
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
    const { attempt } = card;
    nodes.set(id, {
      // What has no worker any more has not ended, and goes on when the run does.
      state: attempt.status === "running" && isHalted ? "lost" : attempt.status,
      tokens: attempt.usage ? totalTokens(attempt.usage) : 0,
      cost: attempt.cost ?? 0,
      durationMs: durationOf(attempt, attempt.status === "running" ? now : null),
      run: (nodes.get(id)?.run ?? 0) + 1,
    });
  }
  const asked = status === "waiting" ? questionAmong(cards)?.meta.stepID : null;
  if (typeof asked === "string") {
    const id = asked.split("/", 1)[0] ?? asked;
    const before = nodes.get(id);
    nodes.set(id, { tokens: 0, cost: 0, durationMs: null, run: 1, ...before, state: "waiting" });
  }
  return nodes;
}
