import { referencesOf } from "@uncaged/workflow-steps/document";
import { isRecord, readJson } from "../../lib/json.ts";
import { nodeIdOf } from "../../lib/thread-log.ts";
import type { TraceRow } from "../trace/rows.ts";
import { type Graph, type GraphEdge, type GraphNode, isNode, stateOf } from "./graph.ts";

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

/** A document as a graph, with counts and states of a thread's rows. */
export function documentGraph(
  documents: readonly StepRecord[],
  rows: readonly TraceRow[] = [],
): Graph {
  const own = rows.filter((row) => isNode(row) && row.card?.attempt.attempt === row.id);
  const byNode = Map.groupBy(own, ({ card }) => card && nodeIdOf(card));
  const parents = parentsIn(documents);
  const groups = new Set(parents.values());
  const nodes = documents.map((step): GraphNode => {
    const runs = byNode.get(step.id) ?? [];
    const last = runs.at(-1);
    const done = runs.filter((row) => isOwn(row) && row.kind !== "question" && row.number !== null);
    return {
      id: step.id,
      parent: parents.get(step.id) ?? null,
      label: titleOf(step),
      note: step.id,
      count: done.length,
      state: last ? stateOf(last) : "idle",
      row: last?.id ?? null,
      isGroup: groups.has(step.id),
    };
  });
  const ids = new Set(documents.map(({ id }) => id));
  const edges = documents
    .flatMap((step) => edgesOf(step))
    .filter(({ from, to }) => ids.has(to) && parents.get(to) !== from);
  return { nodes, edges };
}

/** Whether a row's step is in the document itself, not in a child workflow. */
const isOwn = ({ card }: TraceRow): boolean =>
  card !== null && !card.attempt.path.some((part) => "run" in part);

/** The construct around each step: the chains of a construct begin at its children and its cases. */
function parentsIn(documents: readonly StepRecord[]): ReadonlyMap<string, string> {
  const references = new Map(documents.map((step) => [step.id, referencesOf(step)]));
  const all = [...references.values()].flat();
  const targets = new Set(all.map(({ to }) => to));
  /** The steps of the chain that begins at a step, without those at which `stops` holds. */
  const chainFrom = (head: string, stops: (id: string) => boolean): ReadonlySet<string> => {
    const chain = new Set<string>();
    for (const todo = [head]; todo.length > 0; ) {
      const id = todo.pop() ?? "";
      if (!references.has(id) || chain.has(id) || stops(id)) continue;
      chain.add(id);
      for (const { kind, to } of references.get(id) ?? []) if (!isInner(kind)) todo.push(to);
    }
    return chain;
  };
  // The steps after a construct are not in it, even if one of its chains leads there too.
  const outer = new Set(
    documents
      .filter(({ id }, index) => index === 0 || !targets.has(id))
      .flatMap(({ id }) => [...chainFrom(id, () => false)]),
  );
  const parents = new Map<string, string>();
  for (const [construct, inner] of references) {
    for (const { kind, to } of inner) {
      if (!isInner(kind)) continue;
      const isTaken = (id: string) =>
        outer.has(id) || parents.has(id) || isAround(id, construct, parents);
      for (const id of chainFrom(to, isTaken)) parents.set(id, construct);
    }
  }
  return parents;
}

const isInner = (kind: string): boolean => kind === "child" || kind === "case";

/** Whether a step is a construct around another, or that step itself. */
function isAround(id: string, inner: string, parents: ReadonlyMap<string, string>): boolean {
  for (let one: string | undefined = inner; one !== undefined; one = parents.get(one))
    if (one === id) return true;
  return false;
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
