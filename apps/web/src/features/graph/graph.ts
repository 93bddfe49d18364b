import type { NumberedStep } from "@uncaged/workflow-server/api-types";
import { isRecord, readJson } from "../../lib/json.ts";

/** A role or a step of a document, and how often it ran. */
export type GraphNode = {
  id: string;
  label: string;
  /** What stands below the label. */
  note: string | null;
  count: number;
  state: "idle" | "done" | "live" | "waiting" | "failed";
  /** The number of its last step, for who wants to see it. */
  lastStep: number | null;
};

/** Who leads to whom: how often, or under which condition. */
type GraphEdge = {
  from: string;
  to: string;
  label: string | null;
  kind: "next" | "inside" | "error";
};

export type Graph = { nodes: GraphNode[]; edges: GraphEdge[] };

/**
 * The roles of a thread: who followed whom, and how often. `live` are those at work now, `failed` those
 * that failed and were not done again. Answers are not told apart from the questions that they answer.
 */
export function roleGraph(
  steps: readonly Pick<NumberedStep, "role" | "number">[],
  live: readonly string[],
  failed: readonly string[] = [],
): Graph {
  const nodes = new Map<string, GraphNode>();
  const follows = new Map<string, number>();
  const nodeOf = (role: string): GraphNode => {
    const found = nodes.get(role);
    if (found) return found;
    const node: GraphNode = {
      id: role,
      label: role,
      note: null,
      count: 0,
      state: "done",
      lastStep: null,
    };
    nodes.set(role, node);
    return node;
  };
  const follow = (from: string | null, to: string) => {
    if (from === null) return;
    const key = JSON.stringify([from, to]);
    follows.set(key, (follows.get(key) ?? 0) + 1);
  };
  let before: string | null = null;
  for (const { role, number } of steps) {
    const name = role === "__input__" ? "__wait__" : role;
    const node = nodeOf(name);
    node.lastStep = number;
    if (role === "__input__") continue;
    node.count += 1;
    follow(before, name);
    before = name;
  }
  if (steps.at(-1)?.role === "__wait__") nodeOf("__wait__").state = "waiting";
  const mark = (state: "failed" | "live") => (role: string) => {
    if (!nodes.has(role)) follow(before, role);
    nodeOf(role).state = state;
  };
  failed.forEach(mark("failed"));
  live.forEach(mark("live"));
  const edges = [...follows].map(([key, times]): GraphEdge => {
    const [from = "", to = ""] = JSON.parse(key) as string[];
    return { from, to, label: times > 1 ? `${times}×` : null, kind: "next" };
  });
  return { nodes: [...nodes.values()], edges };
}

type StepRecord = Readonly<Record<string, unknown>> & { id: string };

/** The names that end a chain, and so lead nowhere. */
const ends = new Set(["RETURN", "BREAK"]);

/** The steps of a step workflow's document, as its descriptor holds it; null when it holds none. */
export function documentSteps(descriptor: unknown): StepRecord[] | null {
  const mark = isRecord(descriptor) ? descriptor.stepWorkflow : null;
  const text = isRecord(mark) ? mark.document : null;
  const document = typeof text === "string" ? readJson(text).value : text;
  if (!isRecord(document) || !Array.isArray(document.steps)) return null;
  return document.steps.filter(
    (step): step is StepRecord => isRecord(step) && typeof step.id === "string",
  );
}

/**
 * A document as a graph, with how often each step ran in a thread. `live` are those at work now,
 * `failed` those that failed.
 */
export function documentGraph(
  documents: readonly StepRecord[],
  steps: readonly Pick<NumberedStep, "role" | "number" | "meta">[],
  live: readonly string[],
  failed: readonly string[] = [],
): Graph {
  const last = steps.at(-1);
  const waiting = last?.role === "__wait__" ? String(last.meta.stepID) : null;
  const ids = new Set(documents.map(({ id }) => id));
  const nodes = documents.map((step): GraphNode => {
    const own = steps.filter(({ role }) => role === step.id);
    const isDone = own.length > 0;
    // What runs inside of a step is at work for it: `Subflow_A/LLM_B`.
    const isOf = (id: string): boolean => id === step.id || id.startsWith(`${step.id}/`);
    const isWaiting = waiting !== null && isOf(waiting);
    const ran = failed.some(isOf) ? "failed" : isDone ? "done" : "idle";
    const state = live.some(isOf) ? "live" : ran;
    return {
      id: step.id,
      label: titleOf(step),
      note: step.id,
      count: own.length,
      state: isWaiting ? "waiting" : state,
      lastStep: own.at(-1)?.number ?? (isWaiting ? (last?.number ?? null) : null),
    };
  });
  const edges = documents.flatMap((step) => edgesOf(step)).filter(({ to }) => ids.has(to));
  return { nodes, edges };
}

function titleOf({ id, meta }: StepRecord): string {
  const title = isRecord(meta) ? meta.title : null;
  return typeof title === "string" && title !== "" ? title : id;
}

function edgesOf(step: StepRecord): GraphEdge[] {
  const edges: GraphEdge[] = [];
  const add = (to: unknown, kind: GraphEdge["kind"], label: string | null) => {
    if (typeof to === "string" && !ends.has(to)) edges.push({ from: step.id, to, kind, label });
  };
  for (const child of listOf(step.children)) add(child, "inside", null);
  for (const pair of listOf(step.cases)) {
    const [when, to] = listOf(pair);
    add(to, "inside", typeof when === "string" ? shortened(when) : null);
  }
  add(step.onError, "error", "on error");
  if (isRecord(step.timeout)) add(step.timeout.on, "error", "too late");
  add(step.next, "next", null);
  return edges;
}

const longest = 28;
const shortened = (text: string): string =>
  text.length > longest ? `${text.slice(0, longest - 1)}…` : text;

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
