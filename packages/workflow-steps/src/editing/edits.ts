import {
  type Change,
  type DocumentPath,
  type Edit,
  isRecord,
  listOf,
  type NodePosition,
  type Point,
  type PortAt,
  type Refused,
} from "@uncaged/workflow/editing";
import type { Reference } from "../document/outline.ts";
import { portOf } from "./drawing.ts";
import { freshId, newStep } from "./new-step.ts";
import { enclosingChanges, pastChanges, withoutReference } from "./references.ts";
import { liesIn, type Steps, stepsOf, typeOf, withContents } from "./steps.ts";

/** Adds a step. In a construct, the step starts a new chain. Without a position, the layout places the step. */
export function addStep(
  document: unknown,
  type: string,
  parent: string | null,
  at: Point | null,
): Edit | Refused {
  if (!isRecord(document)) return { refused: "The document is not an object." };
  const steps = stepsOf(document);
  const id = freshId(steps, type);
  const { step: bare, declared } = newStep(type, id, steps.registry);
  const step = at === null ? bare : { ...bare, meta: { x: at.x, y: at.y } };
  return {
    label: `Add ${id}`,
    changes: [
      ...appended(steps, [step]),
      ...declared,
      ...(parent === null ? [] : enclosingChanges(steps, parent, [id])),
    ],
    select: [id],
  };
}

export const appended = ({ count }: Steps, added: readonly object[]): Change[] =>
  count === null
    ? [{ path: ["steps"], value: added }]
    : added.map((value) => ({ path: ["steps", count], value, insert: true }));

type EdgeAt = { source: string; reference: Reference };

function edgeAt(steps: Steps, edge: string): EdgeAt | null {
  for (const source of steps.all.keys()) {
    if (!edge.startsWith(`${source} `)) continue;
    for (const [order, reference] of steps.outline.referencesOf(source).entries()) {
      const { kind, to } = reference;
      if (edge === `${source} ${portOf[kind]} ${order} ${to}`) return { source, reference };
    }
  }
  return null;
}

/** Removes lines, and steps with their content. Redirects references from removed steps to their successors. */
export function removeSteps(
  document: unknown,
  nodes: readonly string[],
  edges: readonly string[],
): Edit {
  const steps = stepsOf(document);
  const gone = withContents(
    steps,
    nodes.filter((id) => steps.all.has(id)),
  );
  const lines = edges.flatMap((edge) => edgeAt(steps, edge) ?? []);
  const isLeft = ({ source, reference }: EdgeAt) => !gone.has(source) && !gone.has(reference.to);
  const rerouted = pastChanges(steps, gone);
  const changes: Change[] = [
    ...[...gone].flatMap((id): Change[] => {
      const path = steps.all.get(id)?.path;
      return path ? [{ path, value: undefined }] : [];
    }),
    ...rerouted,
    ...lines
      .filter(isLeft)
      .flatMap(({ source, reference }) => withoutReference(steps, source, reference)),
  ];
  return { label: removalLabel([...gone], lines.length, rerouted.length), changes, select: [] };
}

function removalLabel(gone: readonly string[], lines: number, rerouted: number): string {
  const [only] = gone;
  if (only === undefined) return lines === 1 ? "Delete a line" : `Delete ${lines} lines`;
  const what = gone.length === 1 ? only : `${gone.length} steps`;
  if (rerouted === 0) return `Delete ${what}`;
  return `Delete ${what}, reroute ${rerouted} reference${rerouted === 1 ? "" : "s"}`;
}

/** Moves steps. A step that is moved into or out of a construct also runs inside or outside the construct. */
export function moveSteps(document: unknown, positions: readonly NodePosition[]): Edit {
  const steps = stepsOf(document);
  const known = positions.filter(({ id }) => steps.all.has(id));
  const places = known.flatMap(({ id, at }) => placeChanges(steps, id, at));
  const moved = known.filter(({ id, parent }) => parent !== (steps.containers.get(id) ?? null));
  const fits = moved.filter(
    ({ id, parent }) => parent === null || (parent !== id && !liesIn(steps, parent, id)),
  );
  const [first] = known;
  const label = known.length === 1 ? `Move ${first?.id}` : `Move ${known.length} steps`;
  return { label, changes: [...places, ...reparented(steps, fits)] };
}

function placeChanges({ all }: Steps, id: string, { x, y }: NodePosition["at"]): Change[] {
  const found = all.get(id);
  if (!found) return [];
  const at = { x: Math.round(x), y: Math.round(y) };
  const { meta } = found.step;
  const path: DocumentPath = [...found.path, "meta"];
  if (meta === undefined) return [{ path, value: at }];
  if (!isRecord(meta)) return [];
  return [
    { path: [...path, "x"], value: at.x },
    { path: [...path, "y"], value: at.y },
  ];
}

/** Removes steps from their chains, closes the gaps, and starts chains in their new constructs. */
function reparented(steps: Steps, moved: readonly NodePosition[]): Change[] {
  const ids = new Set(moved.map(({ id }) => id));
  const leading = new Set(
    [...ids].flatMap((id) => steps.outline.referencesOf(id).map(({ to }) => to)),
  );
  const byParent = Map.groupBy(
    moved.filter(({ id }) => !leading.has(id)),
    ({ parent }) => parent,
  );
  const ends = [...ids].flatMap((id): Change[] => {
    const found = steps.all.get(id);
    const next = found?.step.next;
    if (!found || next === "RETURN" || (typeof next === "string" && ids.has(next))) return [];
    return [{ path: [...found.path, "next"], value: "RETURN" }];
  });
  const begun = [...byParent].flatMap(([parent, all]) =>
    parent === null
      ? []
      : enclosingChanges(
          steps,
          parent,
          all.map(({ id }) => id),
        ),
  );
  return [...pastChanges(steps, ids), ...ends, ...begun];
}

/** Draws a line. `replacing` is the id of the line whose end was dragged. */
export function connectSteps(
  document: unknown,
  from: PortAt,
  to: PortAt,
  replacing?: string,
): Edit | Refused | null {
  if (from.port === "in" && to.port !== "in") return connectSteps(document, to, from, replacing);
  const steps = stepsOf(document);
  const source = steps.all.get(from.node);
  if (!source || !steps.all.has(to.node)) return null;
  const refused = whyNot(steps, from, to.node);
  if (refused !== null) return { refused };
  const before = replacing === undefined ? null : edgeAt(steps, replacing);
  const label = `Connect ${from.node} to ${to.node}`;
  if (before && before.source === from.node && portOf[before.reference.kind] === from.port) {
    if (before.reference.to === to.node) return null;
    const path = [...source.path, ...before.reference.path];
    return { label, changes: [{ path, value: to.node }] };
  }
  const removed = before ? withoutReference(steps, before.source, before.reference) : [];
  const added = lineChanges(steps, from, to.node);
  return added.length === 0 ? null : { label, changes: [...removed, ...added] };
}

function whyNot(steps: Steps, { node, port }: PortAt, to: string): string | null {
  const isInside = port === "children" || port === "case";
  if (isInside && node === to) return `${node} can't run inside itself.`;
  if (port === "children" && liesIn(steps, node, to))
    return `${node} is inside ${to}, so it can't run it.`;
  if (!isInside && liesIn(steps, to, node)) {
    return `${to} is inside ${node}: the step after ${node} must be outside.`;
  }
  return null;
}

function lineChanges(steps: Steps, { node, port }: PortAt, to: string): Change[] {
  const found = steps.all.get(node);
  if (!found) return [];
  const { step, path } = found;
  switch (port) {
    case "children":
      return listOf(step.children).includes(to) ? [] : enclosingChanges(steps, node, [to]);
    case "case":
      return enclosingChanges(steps, node, [to]);
    case "error":
      return step.onError === to ? [] : [{ path: [...path, "onError"], value: to }];
    case "timeout":
      return isRecord(step.timeout)
        ? [{ path: [...path, "timeout", "on"], value: to }]
        : [{ path: [...path, "timeout"], value: { sec: 3600, on: to } }];
    default:
      return step.next === to ? [] : [{ path: [...path, "next"], value: to }];
  }
}

/** Renames a step and updates all references to it. */
export function renameStep(document: unknown, id: string, wanted: string): Edit | Refused {
  const steps = stepsOf(document);
  const found = steps.all.get(id);
  if (!found) return { refused: `Step ${id} not found.` };
  if (wanted.trim() === "") return { refused: "A step needs an id." };
  if (steps.all.has(wanted)) return { refused: `A step ${wanted} already exists.` };
  if (typeOf(found.step) !== null && typeOf({ ...found.step, id: wanted }) === null)
    return { refused: 'An id is a type, "_" and a name, such as LLM_Plan.' };
  const references = [...steps.all.values()].flatMap(({ step, path }) =>
    steps.outline
      .referencesOf(step.id)
      .filter(({ to }) => to === id)
      .map((reference): Change => ({ path: [...path, ...reference.path], value: wanted })),
  );
  return {
    label: `Rename ${id} to ${wanted}`,
    changes: [{ path: [...found.path, "id"], value: wanted }, ...references],
    select: [wanted],
  };
}
