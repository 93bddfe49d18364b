import { createAtom, useSelector } from "@tanstack/react-store";
import { totalTokens } from "@uncaged/workflow/records";
import { createContext, useContext, useEffect, useState } from "react";
import { type Card, durationOf } from "../../lib/thread-log.ts";
import type { LiveNode } from "../kind.ts";

/** The state of a node, from its newest attempt. `run` is the number of attempts. */
export const liveOf = ({ attempt }: Card, run: number, now: number): LiveNode => ({
  state: attempt.status,
  tokens: attempt.usage ? totalTokens(attempt.usage) : 0,
  cost: attempt.cost ?? 0,
  durationMs: durationOf(attempt, attempt.status === "running" ? now : null),
  run,
});

const createLiveNodes = () => createAtom<ReadonlyMap<string, LiveNode>>(new Map());

/** The states of all nodes. Each node subscribes to its own state, so a token redraws one node. */
export const LiveContext = createContext(createLiveNodes());

export function useLiveNodes(nodes: ReadonlyMap<string, LiveNode> | undefined) {
  const [live] = useState(createLiveNodes);
  useEffect(() => live.set(nodes ?? new Map<string, LiveNode>()), [live, nodes]);
  return live;
}

export const useLiveNode = (id: string): LiveNode | undefined =>
  useSelector(useContext(LiveContext), (nodes) => nodes.get(id));
