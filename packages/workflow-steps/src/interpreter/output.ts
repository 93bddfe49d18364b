import { listNames, truncated } from "@uncaged/workflow/interpreter";
import picomatch from "picomatch/posix.js";
import type { FileAdapter, FileMode } from "../adapter/adapter.ts";
import type { ChildExecutionContext, ExecutionContext } from "../context/context.ts";
import type { Run } from "../context/run.ts";
import { getStepType, WriteMode } from "../document/document.ts";
import type { StepDocument } from "../document/format.ts";
import type { RunEvent } from "../document/event.ts";
import { read } from "../expression/parse.ts";
import { isPlain, toText } from "../expression/value.ts";
import { type Called, pathFromRoot, untilAborted, whole } from "../step/call.ts";
import { noAdapter } from "../step/errors.ts";
import { outEntries, resolveTarget } from "../document/target.ts";
import type { Task } from "./interpreter.ts";
import {
  badWriteMode,
  pathLeadsOut,
  pathNotAllowed,
  reservedFileName,
  setToFile,
  emptyTarget,
  targetNotPath,
} from "./errors.ts";

type Writer = { context: ChildExecutionContext; step: StepDocument; signal: AbortSignal };

/**
 * Maps a result through the step's `out`, unless a handler already did, then evaluates `print`. Both can read `locals`.
 */
export async function mapOutputs(writer: Writer, locals: Called["locals"]): Promise<void> {
  const { context } = writer;
  Object.assign(context.locals, locals);
  try {
    if (!context.isMapped) await writeOutputs(writer);
    print(writer);
  } finally {
    for (const name of Object.keys(locals)) delete context.locals[name];
  }
}

export function print({ context, step }: Writer): void {
  if (step.print === undefined) return;
  context.emit("step_print", step.id, { value: whole(context.resolve(step.print)) });
}

/** Writes the targets of `out`: first the variables in order, then the files. */
async function writeOutputs(writer: Writer): Promise<void> {
  const { context, step } = writer;
  const files: { path: string; data: string | Uint8Array }[] = [];
  for (const [text, value] of outEntries(step.out)) {
    const target = resolveTarget(text, context.scope);
    context.targets.push([text, target]);
    const resolved = context.resolve(value);
    if (target.kind === "variable") context.set(target.path, resolved, step.id);
    else files.push({ path: target.path, data: fileData(target.path, resolved) });
  }
  for (const { path, data } of files) await writeFile(writer, path, data, WriteMode.overwrite);
  context.isMapped = true;
}

export async function writeTarget(writer: Writer): Promise<void> {
  const { context, step } = writer;
  const type = getStepType(step);
  if (step.target === undefined) return;
  const value = context.resolve(step.value ?? null);
  if (type === "Set") {
    const variable = resolveTarget(textOf(step.target), context.scope);
    if (variable.kind === "file") throw setToFile(step.id);
    context.set(variable.path, value, step.id);
    return;
  }
  const path = pathFromRoot(pathOf(writer));
  await writeFile(writer, path, fileData(path, value), step.mode ?? WriteMode.overwrite);
  context.targets.push([`/${path}`, { kind: "file", path }]);
}

// Returns the path that a Write's target names: an expression, or a text with placeholders as in a target of `out`.
function pathOf({ context, step }: Writer): string {
  const target = textOf(step.target);
  if (target.startsWith("=")) {
    const path = context.evaluate(target);
    if (typeof path === "string" && path !== "") return path;
    throw targetNotPath(step.id, path ?? null);
  }
  if (target === "") throw emptyTarget(step.id);
  const { path } = resolveTarget(target.startsWith("/") ? target : `/${target}`, context.scope);
  return String(path);
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** Publishes `file_start` for a model's files before the model is called. */
export function announceFiles(writer: Writer): void {
  const { context, step } = writer;
  if (getStepType(step) !== "LLM" || typeof step.out !== "object" || step.out === null) return;
  for (const [text] of outEntries(step.out)) {
    if (!text.startsWith("/")) continue;
    try {
      const { path } = resolveTarget(text, context.scope);
      context.emit("file_start", step.id, { path: rooted(writer, String(path)) });
    } catch {
      // A placeholder may need the model's answer.
    }
  }
}

/**
 * Writes a file under the rules of `registry.files`, with its events. @throws WorkflowError `PATH_REFUSED`,
 * `NO_ADAPTER`
 */
export async function writeFile(
  writer: Writer,
  path: string,
  data: string | Uint8Array,
  mode: string,
): Promise<void> {
  const { context, step } = writer;
  const { file } = context.run.setup.adapters;
  if (!file) throw noAdapter(step.id, "file");
  if (!isMode(mode)) throw badWriteMode(step.id, mode);
  const inside = rooted(writer, path);
  if (getStepType(step) !== "LLM") context.emit("file_start", step.id, { path: inside });
  const written = await untilAborted(writer.signal, () => file.write(inside, data, mode));
  const artifact = { path: inside, size_bytes: sizeOf(written, data) };
  context.written.artifacts.push(artifact);
  context.run.state.artifacts[inside] = artifact;
  context.emit("file_done", step.id, artifact);
}

/** Returns a path relative to the root; `.tmp/x` is in the run's own folder. */
function rooted({ context, step }: Writer, given: string): string {
  const path = pathFromRoot(given);
  const parts = path.split("/");
  if (path === "" || parts.includes("..") || path.includes("\0")) {
    throw pathLeadsOut(step.id, given);
  }
  // File paths become keys of a record.
  if (path === "__proto__") throw reservedFileName(step.id);
  const { state, workflow } = context.run;
  if (parts[0] === ".tmp") return [temporaryFolder(state.runID), ...parts.slice(1)].join("/");
  const globs = workflow.document.registry.files?.artifacts ?? [];
  if (globs.length === 0 || picomatch.isMatch(path, globs.map(pathFromRoot), { dot: true }))
    return path;
  throw pathNotAllowed(step.id, path, globs);
}

/** Returns a file's content for a value. A JSON file is never empty, because that would be invalid JSON. */
function fileData(path: string, value: unknown): string | Uint8Array {
  if (value instanceof Uint8Array) return value;
  return toText(value, 2) || (path.endsWith(".json") && typeof value !== "string" ? "null" : "");
}

/** Returns the size that the adapter reports, otherwise the size of the data. */
function sizeOf(written: unknown, data: string | Uint8Array): number {
  const size = isPlain(written) ? written.size_bytes : undefined;
  if (Number.isSafeInteger(size) && Number(size) >= 0) return Number(size);
  return typeof data === "string" ? new TextEncoder().encode(data).length : data.length;
}

const isMode = (mode: string): mode is FileMode => Object.hasOwn(WriteMode, mode);

/** Lets a custom handler map a result through its step's `out`, so that the engine does not map it again. */
export async function applyOutputMapping(
  context: ChildExecutionContext,
  step: StepDocument,
  result?: unknown,
): Promise<void> {
  context.locals._result = result ?? null;
  try {
    await writeOutputs({ context, step, signal: new AbortController().signal });
  } finally {
    delete context.locals._result;
  }
}

/** Lets a custom handler publish an event. */
export function emitEvent(
  context: ExecutionContext,
  ...event: Parameters<ExecutionContext["emit"]>
): void {
  context.emit(...event);
}

const temporaryFolder = (runID: string): string => `.tmp/${runID}`;

/** Removes a run's temporary files and ignores errors. An abort ends the wait. */
export async function removeTemporary(
  { setup, state }: Run,
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  const folder = temporaryFolder(state.runID);
  const isUsed = Object.keys(state.artifacts).some((path) => path.startsWith(`${folder}/`));
  const { file } = setup.adapters;
  if (!isUsed || !file) return;
  await untilAborted(signal, () => file.remove(folder)).catch(() => undefined);
}

/** Copies the temporary files of another run, unless the run already has files. */
export async function copyTemporary(file: FileAdapter, from: string, to: string): Promise<void> {
  const folder = temporaryFolder(from);
  const filesBelow = async (one: string) => (await file.list(`${one}/**`)) ?? [];
  if ((await filesBelow(temporaryFolder(to))).length > 0) return;
  for (const path of await filesBelow(folder)) {
    const data = await file.read(path);
    await file.write(`${temporaryFolder(to)}${path.slice(folder.length)}`, data, "overwrite");
  }
}

/** Returns a step's inputs for `step_start`; null if the step has no inputs or if they can't be evaluated. */
export function resolvedInputs({ step, type, context }: Task): Record<string, unknown> | null {
  const isWriter = (type === "Set" || type === "Write") && step.target !== undefined;
  const written = isWriter ? { target: step.target, value: step.value } : null;
  const inputs = step.in ?? step.input ?? written;
  if (inputs === null) return null;
  try {
    const values = context.resolve(inputs) as Record<string, unknown>;
    return context.run.setup.wholeValues ? cut(values, (value) => value) : cut(values);
  } catch {
    return null;
  }
}

/** Returns the outputs of a step for `step_done`: each target with its current value. */
export function outputsOf({ step, context }: Task): Record<string, unknown> | null {
  if (step.out === undefined && context.targets.length === 0) return null;
  const outputs = context.targets.map(([text, target]): [string, unknown] => {
    if (target.kind === "file") return [text, { _file: true, path: `/${target.path}` }];
    const [name, ...rest] = target.path;
    return [text, rest.reduce<unknown>((value, key) => read(value, key), context.scope(name))];
  });
  return cut(Object.fromEntries(outputs));
}

/** Truncates the long values in an event that holds whole values. */
export function shownEvent(event: RunEvent): RunEvent {
  const entries = Object.entries(event.payload).map(([name, value]): [string, unknown] => {
    // An event of a grandchild workflow.
    if (name === "data" && isEvent(value)) return [name, shownEvent(value)];
    return [name, listNames.includes(name) && isPlain(value) ? cut(value) : truncated(value)];
  });
  return { ...event, payload: Object.fromEntries(entries) };
}

/** Returns whether a value is an event of a run, such as the `data` of a child workflow's `tool_message`. */
export const isEvent = (value: unknown): value is RunEvent =>
  isPlain(value) && typeof value.runID === "string" && isPlain(value.payload);

const cut = (
  values: Record<string, unknown>,
  shown: (value: unknown) => unknown = truncated,
): Record<string, unknown> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, shown(value ?? null)]));
