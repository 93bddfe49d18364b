import { totalTokens } from "@uncaged/workflow/records";
import { createContext, useContext, useEffect, useState, useSyncExternalStore } from "react";
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

/** The states of all nodes. Each node subscribes to its own state, so a token redraws one node. */
class LiveNodes {
  #nodes: ReadonlyMap<string, LiveNode> = new Map();
  readonly #listeners = new Set<() => void>();

  set(nodes: ReadonlyMap<string, LiveNode>): void {
    this.#nodes = nodes;
    for (const listener of this.#listeners) listener();
  }

  get = (id: string): LiveNode | undefined => this.#nodes.get(id);

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
}

export const LiveContext = createContext(new LiveNodes());

export function useLiveNodes(nodes: ReadonlyMap<string, LiveNode> | undefined): LiveNodes {
  const [live] = useState(() => new LiveNodes());
  useEffect(() => live.set(nodes ?? new Map()), [live, nodes]);
  return live;
}

export function useLiveNode(id: string): LiveNode | undefined {
  const live = useContext(LiveContext);
  return useSyncExternalStore(live.subscribe, () => live.get(id));
}
