import type { Attempt, Path } from "@uncaged/workflow/records";
import { type Card, nameOf } from "../../lib/thread-log.ts";
import { leaf, type TraceNode } from "./nodes.ts";

type Part = Path[number];

/** Constructs without their own attempt, such as one `step.all`, with the attempts in them by place. */
type Group = { node: TraceNode; members: Map<string, Card>; lastEnd: number };

/** Finds the row that contains each attempt: the parent, or the iteration or chain of the attempt's path in it. */
export class Places {
  readonly top: TraceNode[] = [];
  readonly #nodes: ReadonlyMap<string, TraceNode>;
  readonly #inner = new Map<string, TraceNode>();
  readonly #groups = new Map<string, Group>();
  #groupCount = 0;

  constructor(nodes: ReadonlyMap<string, TraceNode>) {
    this.#nodes = nodes;
  }

  /** The list that a card's row belongs to. `parent` is the attempt around it, if any. */
  around(card: Card, parent: string | null): TraceNode[] {
    const { attempt } = card;
    const outer = parent === null || this.#isIn(parent, attempt.attempt) ? null : parent;
    let node = outer === null ? null : (this.#nodes.get(outer) ?? null);
    const known = node?.row.card?.attempt.path.length ?? 0;
    for (const part of attempt.path.slice(known)) node = this.#inside(node, part, card);
    return (node && callIn(node, attempt))?.children ?? node?.children ?? this.top;
  }

  /** Tells whether an attempt is a descendant of another attempt. A foreign log may have a cycle. */
  #isIn(id: string, around: string): boolean {
    const seen = new Set<string>();
    for (let one: string | null = id; one !== null && !seen.has(one); ) {
      if (one === around) return true;
      seen.add(one);
      one = this.#nodes.get(one)?.row.card?.attempt.parent ?? null;
    }
    return false;
  }

  #inside(node: TraceNode | null, part: Part, card: Card): TraceNode | null {
    // The second run of a graph's node has no construct around it.
    if (part.in === "run" && "child" in part) return node;
    const own = node?.row.card;
    const isOwn = own && [nameOf(own.attempt), own.attempt.stepID].includes(part.in);
    const construct = isOwn ? node : this.#groupAt(node, part, card);
    if (!("child" in part)) return construct;
    const { kind, id } = construct.row;
    if (part.in === "step.all" || (kind !== "loop" && kind !== "branch")) return construct;
    if (part.iteration !== undefined) {
      const iteration = this.#at(`${id}/${part.iteration}`, construct, () => ({
        ...leaf(`${id}/${part.iteration}`, "iteration", `Iteration ${(part.iteration ?? 0) + 1}`),
      }));
      return this.#chainIn(iteration, part.child);
    }
    return this.#chainIn(construct, part.child);
  }

  #chainIn(construct: TraceNode, child: string): TraceNode {
    const id = `${construct.row.id}/${child}`;
    return this.#at(id, construct, () => leaf(id, "branch", child), true);
  }

  #at(id: string, around: TraceNode, make: () => TraceNode["row"], chain = false): TraceNode {
    const known = this.#inner.get(id);
    if (known) return known;
    const node: TraceNode = { row: make(), children: [], chain };
    this.#inner.set(id, node);
    around.children.push(node);
    return node;
  }

  /** The construct of a part without an attempt. A place that runs again after its end belongs to the next construct. */
  #groupAt(node: TraceNode | null, part: Part, card: Card): TraceNode {
    const key = JSON.stringify([node?.row.id ?? null, part.in]);
    const place = "child" in part ? JSON.stringify([part.child, part.iteration]) : part.run;
    const known = this.#groups.get(key);
    const group = known && continues(known, place, card) ? known : this.#newGroup(key, node, part);
    group.members.set(place, card);
    const { endedAt } = card.attempt;
    group.lastEnd = Math.max(group.lastEnd, endedAt ?? Infinity);
    return group.node;
  }

  #newGroup(key: string, around: TraceNode | null, part: Part): Group {
    this.#groupCount += 1;
    const isLoop = part.in !== "step.all" && "iteration" in part && part.iteration !== undefined;
    const row = leaf(
      `${part.in}-${this.#groupCount}`,
      isLoop ? "loop" : "branch",
      part.in === "__entry__" ? "Entries" : part.in,
    );
    const node: TraceNode = { row, children: [], chain: false };
    (around?.children ?? this.top).push(node);
    const group = { node, members: new Map<string, Card>(), lastEnd: 0 };
    this.#groups.set(key, group);
    return group;
  }
}

/** The tool call that runs an attempt as a subagent; undefined for other attempts. */
function callIn({ children }: TraceNode, { role, startedAt }: Attempt): TraceNode | undefined {
  const name = `_${(role ?? "").toLowerCase().replace(/[^a-z0-9_-]/g, "_")}`;
  const at = startedAt ?? 0;
  const calls = children.filter(
    ({ row }) =>
      row.kind === "tool" &&
      row.name.startsWith("subagent_") &&
      row.name.endsWith(name) &&
      (row.startedAt ?? Infinity) <= at &&
      at <= (row.endedAt ?? Infinity),
  );
  return calls.find((call) => call.children.length === 0) ?? calls.at(-1);
}

const unfinished = new Set(["lost", "parked", "cancelled", "running"]);

function continues({ members, lastEnd, node }: Group, place: string, { attempt }: Card): boolean {
  const isRetry = attempt.retries.some(({ attempt: failed }) =>
    [...members.values()].some((member) => member.attempt.attempt === failed),
  );
  const before = members.get(place)?.attempt;
  if (isRetry) return true;
  // Only the members of a `step.all` run once.
  if (node.row.name !== "step.all") return true;
  if (before) return unfinished.has(before.status);
  if ((attempt.startedAt ?? 0) <= lastEnd) return true;
  return [...members.values()].some((member) => unfinished.has(member.attempt.status));
}
