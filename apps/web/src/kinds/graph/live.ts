import { liveOf } from "../../editor/canvas/live.ts";
import type { LiveNode } from "../../editor/kind.ts";
import type { Card } from "../../lib/thread-log.ts";
import type { Writing } from "./run-view.ts";

/** The states of a run's nodes, from the attempts of its thread. `asking` is the approval that can be answered. */
export function liveNodes(
  cards: readonly Card[],
  asking: string | null,
  now: number,
): ReadonlyMap<string, LiveNode> {
  const live = new Map<string, LiveNode>();
  for (const card of cards) {
    const id = nodeOf(card);
    if (id === null) continue;
    const before = live.get(id)?.run ?? 0;
    live.set(id, liveOf(card, card.attempt.role === "__input__" ? before : before + 1, now));
  }
  if (asking !== null) {
    const { run = 1 } = live.get(asking) ?? {};
    live.set(asking, { state: "waiting", tokens: 0, cost: 0, durationMs: null, run });
  }
  return live;
}

/** The text so far of each node's running attempts, from their last model call, in the order of their start. */
export function writingOf(cards: readonly Card[]): Writing {
  const writing = new Map<string, string[]>();
  for (const { attempt } of cards) {
    const { role, status, turns } = attempt;
    if (role === null || status !== "running") continue;
    const last = turns.findLast(({ kind }) => kind === "text");
    writing.set(role, [...(writing.get(role) ?? []), last?.kind === "text" ? last.text : ""]);
  }
  return writing;
}

/** The nodes with a committed step, from which a run can be retried. */
export const committedNodes = (cards: readonly Card[]): ReadonlySet<string> =>
  new Set(cards.flatMap((card) => (card.step === null ? [] : (nodeOf(card) ?? []))));

function nodeOf({ attempt: { role }, step }: Card): string | null {
  if (role !== "__wait__" && role !== "__input__") return role;
  const nodeId = step?.meta.nodeId;
  return typeof nodeId === "string" ? nodeId : null;
}
