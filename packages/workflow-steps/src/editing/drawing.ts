import {
  type Drawing,
  type DrawnEdge,
  type DrawnNode,
  isRecord,
  listOf,
  type Point,
  type Port,
  shortened,
} from "@uncaged/workflow/editing";
import { hasField } from "../document/format.ts";
import type { Reference } from "../document/outline.ts";
import { linesOf } from "./body.ts";
import { isContainer, type StepRecord, type Steps, stepsOf, typeOf } from "./steps.ts";

/** The ports of a step, by kind of reference. */
const ports = {
  in: { id: "in", role: "in", side: "left", label: null, isOpen: true },
  next: { id: "next", role: "out", side: "right", label: null, isOpen: true, hint: "next step" },
  children: {
    ...{ id: "children", role: "out", side: "left", label: "all", isOpen: true },
    hint: "first steps inside",
  },
  case: {
    ...{ id: "case", role: "out", side: "left", label: "case", isOpen: true },
    hint: "another case",
  },
  error: { id: "error", role: "out", side: "right", label: "on error", isOpen: true },
  timeout: { id: "timeout", role: "out", side: "right", label: "on timeout", isOpen: true },
} as const satisfies Record<string, Port>;

export type OutPort = Exclude<keyof typeof ports, "in">;

export const portOf: Readonly<Record<Reference["kind"], OutPort>> = {
  next: "next",
  child: "children",
  case: "case",
  onError: "error",
  timeout: "timeout",
};

/** Draws a document. A construct comes before its content. */
export function drawSteps(document: unknown): Drawing {
  const steps = stepsOf(document);
  const inner = Map.groupBy(steps.all.keys(), (id) => steps.containers.get(id) ?? null);
  const nodes: DrawnNode[] = [];
  const open = (inner.get(null) ?? []).toReversed();
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    const node = nodeOf(steps, id);
    if (node) nodes.push(node);
    open.push(...(inner.get(id) ?? []).toReversed());
  }
  return { nodes, edges: [...steps.all.keys()].flatMap((id) => edgesOf(steps, id)) };
}

function nodeOf(steps: Steps, id: string): DrawnNode | null {
  const found = steps.all.get(id);
  if (!found) return null;
  const { step, path } = found;
  const title = titleOf(step);
  return {
    id,
    type: typeOf(step) ?? "Noop",
    title,
    lines: [...(title === id ? [] : [id]), ...linesOf(step, steps.registry)],
    at: placeOf(step),
    parent: steps.containers.get(id) ?? null,
    isContainer: isContainer(step),
    isFixed: false,
    ports: portsOf(step),
    path,
  };
}

export function titleOf({ id, meta }: StepRecord): string {
  const title = isRecord(meta) ? meta.title : null;
  return typeof title === "string" && title !== "" ? title : id;
}

/** Returns the hand-set position of a step: `meta.x` and `meta.y`. */
function placeOf({ meta }: StepRecord): Point | null {
  if (!isRecord(meta)) return null;
  const { x, y } = meta;
  const isPoint = Number.isFinite(x) && Number.isFinite(y);
  return isPoint ? { x: x as number, y: y as number } : null;
}

function portsOf(step: StepRecord): Port[] {
  const type = typeOf(step);
  if (type === "Stop") return [ports.in];
  const has = (name: string) => hasField(type === "Fork" ? "Noop" : (type ?? "custom"), name);
  return [
    ports.in,
    ...(type === "Branch" ? [ports.case] : []),
    ...(type !== "Branch" && isContainer(step)
      ? [{ ...ports.children, label: type === "Loop" ? "each" : "all" }]
      : []),
    ...(has("onError") ? [ports.error] : []),
    ...(type === "Pause" ? [ports.timeout] : []),
    ports.next,
  ];
}

function edgesOf({ all, outline }: Steps, id: string): DrawnEdge[] {
  const found = all.get(id);
  if (!found) return [];
  return outline.referencesOf(id).map((reference, order): DrawnEdge => {
    const { kind, to, path } = reference;
    return {
      id: `${id} ${portOf[kind]} ${order} ${to}`,
      source: id,
      sourcePort: portOf[kind],
      target: to,
      targetPort: "in",
      label: labelOf(found.step, reference),
      look: looks[kind],
      path: [...found.path, ...path],
    };
  });
}

const looks: Readonly<Record<Reference["kind"], DrawnEdge["look"]>> = {
  next: "next",
  child: "child",
  case: "child",
  onError: "error",
  timeout: "error",
};

function labelOf({ cases }: StepRecord, { kind, path }: Reference): string | null {
  if (kind !== "case") return null;
  const [when] = listOf(listOf(cases)[Number(path[1])]);
  const text = typeof when === "string" ? when.replace(/^=/, "") : String(when);
  return shortened(text || "when?", 28);
}
