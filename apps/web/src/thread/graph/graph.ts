import { sleepsUntil } from "@uncaged/workflow/records";
import { referencesOf } from "@uncaged/workflow-steps/document";
import { sleepRole } from "../../lib/format.ts";
import { isRecord, readJson } from "../../lib/json.ts";
import { type Card, nameOf, nodeIdOf, questionAmong } from "../../lib/thread-log.ts";
import type { NodeState } from "../../ui/states.tsx";

export type GraphNode = {
  id: string;
  label: string;
  note: string | null;
  count: number;
  state: NodeState;
  /** The number of the node's last step. */
  lastStep: number | null;
};

/** A line between nodes; the label is a count or a condition. */
type GraphEdge = {
  from: string;
  to: string;
  label: string | null;
  kind: "next" | "child" | "error";
};

export type Graph = { nodes: GraphNode[]; edges: GraphEdge[] };

/** Whether a card's step is in the document itself, not in a child workflow. */
const isOwn = ({ attempt }: Card): boolean => !attempt.path.some((part) => "run" in part);

/** The roles of a thread in their order, with counts. An answer belongs to the node of its question. */
export function roleGraph(cards: readonly Card[]): Graph {
  const nodes = new Map<string, GraphNode>();
  const follows = new Map<string, number>();
  const follow = (from: string | null, to: string) => {
    if (from === null) return;
    const key = JSON.stringify([from, to]);
    follows.set(key, (follows.get(key) ?? 0) + 1);
  };
  let before: string | null = null;
  let waits = "__wait__";
  for (const { attempt, step } of cards) {
    if (step?.role === "__wait__") waits = sleepsUntil(step) === null ? step.role : sleepRole;
    const isWait = step?.role === "__wait__" || step?.role === "__input__";
    const name = isWait ? waits : nameOf(attempt);
    if (name === null) continue;
    const known = nodes.get(name);
    const node = known ?? { ...idle, id: name, label: name, note: null };
    nodes.set(name, node);
    node.state = attempt.status;
    if (step === null) {
      const caller = cards.find((card) => card.attempt.attempt === attempt.parent);
      if (!known) follow(caller ? nameOf(caller.attempt) : before, name);
      continue;
    }
    node.lastStep = step.number;
    if (step.role === "__input__") continue;
    node.count += 1;
    follow(before, name);
    before = name;
  }
  const waiting = nodes.get(waits);
  if (waiting && questionAmong(cards)) waiting.state = "waiting";
  const edges = [...follows].map(([key, times]): GraphEdge => {
    const [from = "", to = ""] = JSON.parse(key) as string[];
    return { from, to, label: times > 1 ? `${times}×` : null, kind: "next" };
  });
  return { nodes: [...nodes.values()], edges };
}

const idle = { count: 0, state: "idle" as NodeState, lastStep: null as number | null };

type StepRecord = Readonly<Record<string, unknown>> & { id: string };

/** The steps of the document in a descriptor; null if it holds none. */
export function documentSteps(descriptor: unknown): StepRecord[] | null {
  const mark = isRecord(descriptor) ? descriptor.stepWorkflow : null;
  const text = isRecord(mark) ? mark.document : null;
  const document = typeof text === "string" ? readJson(text).value : text;
  if (!isRecord(document) || !Array.isArray(document.steps)) return null;
  return document.steps.filter(
    (step): step is StepRecord => isRecord(step) && typeof step.id === "string",
  );
}

/** A document as a graph, with counts and states of a thread's attempts. */
export function documentGraph(documents: readonly StepRecord[], cards: readonly Card[]): Graph {
  const byNode = Map.groupBy(cards, nodeIdOf);
  const question = questionAmong(cards);
  const stepID = question?.meta.stepID;
  const asked = typeof stepID === "string" ? stepID : "";
  const ids = new Set(documents.map(({ id }) => id));
  const nodes = documents.map((step): GraphNode => {
    const attempts = byNode.get(step.id) ?? [];
    const committed = attempts.filter(
      (card) => isOwn(card) && card.step !== null && card.step.role !== "__wait__",
    );
    const isWaiting = asked === step.id || asked.startsWith(`${step.id}/`);
    const state = attempts.at(-1)?.attempt.status ?? "idle";
    return {
      id: step.id,
      label: titleOf(step),
      note: step.id,
      count: committed.length,
      state: isWaiting ? "waiting" : state,
      lastStep: committed.at(-1)?.step?.number ?? (isWaiting ? (question?.number ?? null) : null),
    };
  });
  const edges = documents.flatMap((step) => edgesOf(step)).filter(({ to }) => ids.has(to));
  return { nodes, edges };
}

function titleOf({ id, meta }: StepRecord): string {
  const title = isRecord(meta) ? meta.title : null;
  return typeof title === "string" && title !== "" ? title : id;
}

const edgesOf = (step: StepRecord): GraphEdge[] =>
  referencesOf(step).map(({ kind, to, path }) => {
    switch (kind) {
      case "case":
        return { from: step.id, to, kind: "child", label: conditionAt(step, path[1]) };
      case "onError":
        return { from: step.id, to, kind: "error", label: "on error" };
      case "timeout":
        return { from: step.id, to, kind: "error", label: "on timeout" };
      default:
        return { from: step.id, to, kind, label: null };
    }
  });

function conditionAt({ cases }: StepRecord, index: string | number | undefined): string | null {
  const [when] = listOf(listOf(cases)[Number(index)]);
  return typeof when === "string" ? shortened(when) : null;
}

const longest = 28;
const shortened = (text: string): string =>
  text.length > longest ? `${text.slice(0, longest - 1)}…` : text;

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
