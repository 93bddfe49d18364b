import { truncated } from "@uncaged/workflow/interpreter";
import type { Adapters, CallSurroundings, LLMUsage } from "../adapter/adapter.ts";
import { isPlain } from "../expression/value.ts";
import type { RegistryDocument, StepDocument } from "../document/format.ts";
import type { Emit } from "../document/event.ts";
import { badField, noAdapter, resultNotJSON, resultTooLarge } from "./errors.ts";

/** The context of a step that makes a call. `inputs` is a copy of its evaluated `in`. */
export type Call = {
  step: StepDocument;
  inputs: Record<string, unknown>;
  /** Evaluates a field of the step. */
  value: (field: unknown) => unknown;
  adapters: Adapters;
  registry: RegistryDocument;
  /** Configuration such as `LLM_MODEL`. Steps do not read the process's environment. */
  env: Readonly<Record<string, string>>;
  runID: string;
  /** The step's id, with the ids of its parent steps as prefix. */
  stepID: string;
  /** The idempotency key of this run of the step; absent outside a thread. */
  key?: string;
  signal: AbortSignal;
  emit: Emit;
  /** Returns a value as events show it: a copy, or the beginning of a long value; null if JSON can't hold it. */
  shown: (value: unknown) => unknown;
  /** Returns a tool's progress data as events show it; truncated by default. */
  shownData?: (data: unknown) => unknown;
  /** Writes a file with the file adapter, under the rules of `registry.files`, and publishes its events. */
  writeFile: (path: string, data: string | Uint8Array, mode: string) => Promise<void>;
};

/** The result of a call: the locals for `out`, and the spending to commit. */
export type Called = {
  locals: { _result: unknown; _meta?: unknown; _toolResult?: unknown };
  model?: string;
  usage?: LLMUsage;
  /** The cost in US dollars; null if the price is unknown. */
  cost?: number | null;
};

/** Runs a step. The error of a call that was already paid for has a `spent` property. */
export type Executor = (call: Call) => Promise<Called>;

const alone =
  "a workflow file can't contain this adapter: add a TypeScript source that gives it to stepsBundle";
const hints: Partial<Record<keyof Adapters, string>> = { service: alone, component: alone };

/** Calls an adapter. Rejects if the adapter is missing, and as soon as the run is aborted. */
export async function ask<Name extends keyof Adapters, T>(
  { step, adapters, signal, runID, stepID, key }: Call,
  name: Name,
  work: (adapter: NonNullable<Adapters[Name]>, surroundings: CallSurroundings) => T | Promise<T>,
): Promise<T> {
  const adapter = adapters[name];
  const surroundings = { signal, runID, stepID, ...(key !== undefined && { key }) };
  if (adapter) return await untilAborted(signal, () => work(adapter, surroundings));
  throw noAdapter(step.id, name, hints[name]);
}

/**
 * Returns the result of `work`. Rejects with the signal's reason as soon as the signal aborts. An adapter that ignores
 * the signal does not block, because its late result is dropped.
 */
export async function untilAborted<T>(signal: AbortSignal, work: () => T | Promise<T>): Promise<T> {
  signal.throwIfAborted();
  let stop = (): void => undefined;
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
  });
  signal.addEventListener("abort", stop, { once: true });
  try {
    const done = await Promise.race([(async () => work())(), stopped]);
    signal.throwIfAborted();
    return done;
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** Returns a field of a call from the step's `in`, otherwise from the step. Returns undefined instead of null. */
export function fieldOf({ inputs, step, value }: Call, name: string): unknown {
  return inputs[name] ?? value(step[name]) ?? undefined;
}

type Kinds = {
  text: string;
  object: Record<string, unknown>;
  list: unknown[];
  number: number;
  time: number;
};

const kinds: Record<keyof Kinds, { is: (value: unknown) => boolean; not: string }> = {
  text: { is: (value) => typeof value === "string" && value !== "", not: "is not a text" },
  object: { is: isPlain, not: "is not an object" },
  list: { is: Array.isArray, not: "is not a list" },
  number: { is: Number.isFinite, not: "is not a number" },
  time: {
    is: (ms) => typeof ms === "number" && ms > 0,
    not: "is not a number of milliseconds above 0",
  },
};

/** Returns a field of a required kind; undefined for a missing field. `value` replaces {@link fieldOf}. */
export function typedField<Kind extends keyof Kinds>(
  call: Call,
  kind: Kind,
  name: string,
  value: unknown = fieldOf(call, name) ?? null,
): Kinds[Kind] | undefined {
  if (value === null) return undefined;
  if (kinds[kind].is(value)) return value as Kinds[Kind];
  throw badField(call.step.id, name, kinds[kind].not);
}

/** Returns a path relative to the root, without leading slashes. */
export const pathFromRoot = (path: string): string => path.replace(/^\/+/, "");

/** Returns a path for the file adapter: `.tmp/x` is in the run's own folder. */
export const archivePath = ({ runID }: Call, path: string): string =>
  pathFromRoot(path).replace(/^\.tmp\//, `.tmp/${runID}/`);

const longest = 200;

/** Returns a value as one line of at most 200 characters, for display. */
export function summary(value: unknown): string {
  const text = typeof value === "string" ? value : (jsonOf(value) ?? "");
  const line = text
    .slice(0, 4 * longest)
    .replace(/\s+/g, " ")
    .trim();
  if (line.length <= longest) return line;
  // Don't split a surrogate pair.
  return `${line.slice(0, longest - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** Returns a copy of a value, not truncated; null if JSON can't hold it. */
export function whole(value: unknown): unknown {
  if (typeof value === "string") return value;
  const json = jsonOf(value);
  return json === undefined ? null : JSON.parse(json);
}

/** Returns a value truncated for an event; null if JSON can't hold it. */
export function shown(value: unknown): unknown {
  try {
    return truncated(value) ?? null;
  } catch {
    return null;
  }
}

// The maximum length of a result in characters of JSON, because a result is committed with its step.
const longestResult = 32 * 1024 * 1024;
const deepestResult = 500;

/**
 * Returns a copy of an adapter's result as JSON for the log. Undefined becomes null. Later changes by the adapter have
 * no effect. `what` names the adapter in the error message.
 */
export function plain(value: unknown, what: string): unknown {
  if (value === undefined || value === null) return null;
  const json = dataOf(value, what);
  const copy: unknown = json.length > longestResult ? null : JSON.parse(json);
  if (copy !== null && !isDeeper(copy, deepestResult)) return copy;
  const size =
    copy === null
      ? `${json.length} characters of JSON, more than ${longestResult}`
      : `a value of more than ${deepestResult} levels`;
  throw resultTooLarge(what, size);
}

function dataOf(value: unknown, what: string): string {
  try {
    const json: unknown = JSON.stringify(value);
    if (typeof json === "string") return json;
    throw new TypeError(`it is a ${typeof value}`);
  } catch (cause) {
    throw resultNotJSON(what, cause);
  }
}

// This function is iterative, because a value may be nested deeper than the stack allows.
function isDeeper(value: unknown, levels: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    const nested = level.filter((one): one is object => typeof one === "object" && one !== null);
    if (nested.length > 0 && depth >= levels) return true;
    level = nested.flatMap((one): unknown[] => Object.values(one));
  }
  return false;
}
