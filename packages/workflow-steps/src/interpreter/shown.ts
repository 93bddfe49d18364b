import { listNames, truncated } from "@uncaged/workflow";
import type { RunEvent } from "../event/event.ts";
import { read } from "../expression/compile.ts";
import { isPlain } from "../expression/value.ts";
import { outEntries } from "../target/out.ts";
import { resolveTarget } from "../target/resolve.ts";
import { parseTarget } from "../target/target.ts";
import type { Task } from "./task.ts";

/** A step's inputs as `step_start` shows them; null when it has none, or when they can't be evaluated. */
export function resolvedInputs({ step, type, context }: Task): Record<string, unknown> | null {
  const inputs = step.in ?? step.input ?? targetOf(step, type);
  if (inputs === null) return null;
  try {
    const values = context.resolve(inputs) as Record<string, unknown>;
    return context.run.setup.tellsWhole ? named(values) : cut(values);
  } catch {
    return null;
  }
}

const targetOf = (step: Task["step"], type: Task["type"]) =>
  (type === "Set" || type === "Write") && step.target !== undefined
    ? { target: step.target, value: step.value }
    : null;

/** What a step has written, as `step_done` shows it: each target with what stands there now. */
export function outputsOf({ step, context }: Task): Record<string, unknown> | null {
  if (step.out === undefined) return null;
  const outputs = outEntries(step.out).map(([text]): [string, unknown] => {
    const target = resolveTarget(parseTarget(text), context.scope);
    if (target.kind === "file") return [text, { _file: true, path: `/${target.path}` }];
    const [name, ...rest] = target.path;
    return [text, rest.reduce<unknown>((value, key) => read(value, key), context.scope(name))];
  });
  return cut(Object.fromEntries(outputs));
}

/** An event that tells its values whole, with those cut that are too long for an event. */
export function shownEvent(event: RunEvent): RunEvent {
  const entries = Object.entries(event.payload).map(([name, value]): [string, unknown] => {
    // What a child of the child told.
    if (name === "data" && isEvent(value)) return [name, shownEvent(value)];
    return [name, listNames.includes(name) && isPlain(value) ? cut(value) : truncated(value)];
  });
  return { ...event, payload: Object.fromEntries(entries) };
}

const isEvent = (value: unknown): value is RunEvent =>
  isPlain(value) && typeof value.runID === "string" && isPlain(value.payload);

const cut = (values: Record<string, unknown>): Record<string, unknown> => named(values, truncated);

const named = (
  values: Record<string, unknown>,
  shown = (value: unknown): unknown => value,
): Record<string, unknown> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, shown(value ?? null)]));
