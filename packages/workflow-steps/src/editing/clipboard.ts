import { type Edit, isRecord, listOf } from "@uncaged/workflow/editing";
import { referencesOf } from "../document/outline.ts";
import { toolOf } from "./body.ts";
import { appended } from "./edits.ts";
import { freshCopyId } from "./new-step.ts";
import { enclosingChanges } from "./references.ts";
import { type StepRecord, stepsOf, typeOf, withContents } from "./steps.ts";

type Fragment = { format: typeof format; steps: StepRecord[] };

const format = "uncaged-steps";

/** Copies steps with their content. */
export function copySteps(document: unknown, nodes: readonly string[]): Fragment {
  const steps = stepsOf(document);
  const all = withContents(steps, nodes);
  return {
    format,
    steps: [...steps.all.values()].flatMap(({ step }) => (all.has(step.id) ? [step] : [])),
  };
}

/** Returns the steps of a fragment: of a whole workflow, or a single step. */
function stepsIn(fragment: unknown): StepRecord[] {
  if (!isRecord(fragment)) return [];
  const isOne = typeof fragment.id === "string" && !("steps" in fragment);
  const list = isOne ? [fragment] : listOf(fragment.steps);
  return list.filter((one): one is StepRecord => isRecord(one) && typeof one.id === "string");
}

/** The offset of a copy from its hand-placed original, in drawing coordinates. */
const shift = 40;

/** Pastes the steps of a fragment under new ids. Keeps references among them and removes other references. */
export function pasteSteps(
  document: unknown,
  fragment: unknown,
  parent: string | null,
): Edit | null {
  const pasted = stepsIn(fragment).filter((step) => typeOf(step) !== null);
  if (pasted.length === 0) return null;
  const steps = stepsOf(document);
  const taken = new Map<string, unknown>(steps.all);
  const ids = new Map<string, string>();
  for (const { id } of pasted) {
    const fresh = taken.has(id) ? freshCopyId(taken, id) : id;
    ids.set(id, fresh);
    taken.set(fresh, true);
  }
  const copies = pasted.map((step) => copyOf(step, ids));
  const named = new Set(copies.flatMap((copy) => referencesOf(copy).map(({ to }) => to)));
  const first = copies.filter(({ id }) => !named.has(id)).map(({ id }) => id);
  return {
    label: copies.length === 1 ? `Paste ${copies[0]?.id}` : `Paste ${copies.length} steps`,
    changes: [
      ...appended(steps, copies),
      ...(parent === null ? [] : enclosingChanges(steps, parent, first)),
    ],
    select: copies.map(({ id }) => id),
  };
}

function copyOf(step: StepRecord, ids: ReadonlyMap<string, string>): StepRecord {
  const copy = structuredClone(step) as Record<string, unknown> & { id: string };
  const to = (id: unknown) => (typeof id === "string" ? ids.get(id) : undefined);
  copy.id = ids.get(step.id) ?? step.id;
  if (typeOf(step) === "Tool" && copy.tool === undefined && copy.toolName === undefined) {
    copy.tool = toolOf(step);
  }
  if ("next" in copy && copy.next !== "BREAK") copy.next = to(copy.next) ?? "RETURN";
  if ("onError" in copy) replace(copy, "onError", to(copy.onError));
  if (isRecord(copy.timeout) && "on" in copy.timeout) {
    const on = to(copy.timeout.on);
    replace(copy, "timeout", on && { ...copy.timeout, on });
  }
  if (Array.isArray(copy.children)) copy.children = copy.children.flatMap((id) => to(id) ?? []);
  if (Array.isArray(copy.cases)) {
    copy.cases = copy.cases.flatMap((pair) => {
      const [when, id] = listOf(pair);
      const target = to(id);
      return target === undefined ? [] : [[when, target]];
    });
  }
  if (isRecord(copy.meta) && typeof copy.meta.x === "number" && typeof copy.meta.y === "number") {
    copy.meta = { ...copy.meta, x: copy.meta.x + shift, y: copy.meta.y + shift };
  }
  return copy;
}

function replace(step: Record<string, unknown>, field: string, value: unknown): void {
  if (value === undefined) delete step[field];
  else step[field] = value;
}
