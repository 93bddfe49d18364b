import { type Change, listOf } from "@uncaged/workflow/editing";
import type { Reference } from "../document/outline.ts";
import { type Steps, typeOf } from "./steps.ts";

/** Returns the changes that redirect references from removed steps to their successors. */
export function pastChanges(steps: Steps, gone: ReadonlySet<string>): Change[] {
  return [...steps.all.keys()].flatMap((id) => {
    if (gone.has(id)) return [];
    const broken = steps.outline.referencesOf(id).filter(({ to }) => gone.has(to));
    const taken = new Set(listOf(steps.all.get(id)?.step.children));
    return broken.map((reference) => rerouted(steps, id, reference, gone, taken));
  });
}

function rerouted(
  steps: Steps,
  id: string,
  { kind, to, path }: Reference,
  gone: ReadonlySet<string>,
  taken: Set<unknown>,
): Change {
  const home = steps.all.get(id)?.path ?? [];
  const next = behind(steps, to, gone);
  const isStep = steps.all.has(next);
  switch (kind) {
    case "next":
      return { path: [...home, ...path], value: next };
    case "child": {
      // A step may occur in the list of children only once.
      const value = isStep && !taken.has(next) ? next : undefined;
      taken.add(value);
      return { path: [...home, ...path], value };
    }
    case "case":
      return isStep
        ? { path: [...home, ...path], value: next }
        : { path: [...home, "cases", path[1] ?? 0], value: undefined };
    case "onError":
      return { path: [...home, "onError"], value: undefined };
    case "timeout":
      return { path: [...home, "timeout"], value: undefined };
  }
}

/** Returns the successor of a removed step: a step, RETURN or BREAK. */
function behind({ all }: Steps, id: string, gone: ReadonlySet<string>): string {
  const seen = new Set<string>();
  let at: unknown = id;
  while (typeof at === "string" && gone.has(at) && !seen.has(at)) {
    seen.add(at);
    at = all.get(at)?.step.next;
  }
  const isEnd = at === "BREAK" || at === "RETURN";
  return typeof at === "string" && (isEnd || (all.has(at) && !gone.has(at))) ? at : "RETURN";
}

/** Returns the changes that add steps to a construct. Each step starts a chain. */
export function enclosingChanges(
  steps: Steps,
  construct: string,
  ids: readonly string[],
): Change[] {
  const found = steps.all.get(construct);
  if (!found || ids.length === 0) return [];
  const { step, path } = found;
  const isBranch = typeOf(step) === "Branch";
  const field = isBranch ? "cases" : "children";
  const items = isBranch ? ids.map((id) => ["", id]) : ids;
  const list = step[field];
  if (!Array.isArray(list)) return [{ path: [...path, field], value: items }];
  const last: unknown = list.at(-1);
  const at = isBranch && listOf(last)[0] === "ELSE" ? list.length - 1 : list.length;
  return items.map((value) => ({ path: [...path, field, at], value, insert: true }));
}

/** Returns the changes that remove one reference. */
export function withoutReference({ all }: Steps, id: string, { kind, path }: Reference): Change[] {
  const home = all.get(id)?.path ?? [];
  switch (kind) {
    case "next":
      return [{ path: [...home, "next"], value: "RETURN" }];
    case "case":
      return [{ path: [...home, "cases", path[1] ?? 0], value: undefined }];
    case "timeout":
      return [{ path: [...home, "timeout"], value: undefined }];
    default:
      return [{ path: [...home, ...path], value: undefined }];
  }
}
