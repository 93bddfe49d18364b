import { WorkflowError } from "@uncaged/workflow";
import picomatch from "picomatch/posix";
import type { FileMode } from "../adapter/adapter.ts";
import { WriteMode } from "../document/constants.ts";
import { toText } from "../expression/value.ts";
import { outEntries } from "../target/out.ts";
import { resolveTarget } from "../target/resolve.ts";
import { parseTarget } from "../target/target.ts";
import { temporaryFolder } from "./temporary.ts";
import { untilAborted } from "../step/adapter-call.ts";
import type { Called } from "../step/call.ts";
import type { ChildExecutionContext } from "../context/context.ts";
import type { StepDocument } from "../document/document.ts";
import { getStepType } from "../document/step-type.ts";

/** A step whose outputs are written. */
export type Writer = { context: ChildExecutionContext; step: StepDocument; signal: AbortSignal };

type FileWrite = { path: string; data: string | Uint8Array };

/** Maps a result through the step's `out`, unless a handler did, and prints; its names live meanwhile. */
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

/** Tells what the step prints, if it prints. */
export function print({ context, step }: Writer): void {
  if (step.print === undefined) return;
  context.emit("step_print", step.id, { value: context.resolve(step.print) });
}

/** Writes what `out` says: the variables at once, in their order, then the files. */
export async function writeOutputs(writer: Writer): Promise<void> {
  const { context, step } = writer;
  const files: FileWrite[] = [];
  for (const [text, value] of outEntries(step.out)) {
    const place = resolveTarget(parseTarget(text), context.scope);
    const resolved = context.resolve(value);
    if (place.kind === "variable") context.set(place.path, resolved, step.id);
    else files.push({ path: place.path, data: fileData(resolved) });
  }
  for (const { path, data } of files) await writeFile(writer, path, data, WriteMode.overwrite);
  context.isMapped = true;
}

/** Does what `target` and `value` of a Set or a Write say. */
export async function writeTarget(writer: Writer): Promise<void> {
  const { context, step } = writer;
  const type = getStepType(step);
  if (step.target === undefined) return;
  const value = context.resolve(step.value ?? null);
  if (type === "Set") {
    const place = resolveTarget(
      parseTarget(typeof step.target === "string" ? step.target : ""),
      context.scope,
    );
    if (place.kind === "file") throw badTarget(step.id, "a Set writes a $variable");
    context.set(place.path, value, step.id);
    return;
  }
  const target = pathOf(writer);
  await writeFile(writer, target, fileData(value), step.mode ?? WriteMode.overwrite);
}

// The path is an expression, or a text with placeholders as a target of `out` has them.
function pathOf({ context, step }: Writer): string {
  const target = step.target;
  if (typeof target === "string" && target.startsWith("=")) {
    const path = context.evaluate(target);
    if (typeof path === "string" && path !== "") return path;
    throw badTarget(step.id, `its target gives ${JSON.stringify(path ?? null)}, which is no path`);
  }
  if (typeof target !== "string" || target === "")
    throw badTarget(step.id, "its target is no path");
  const place = resolveTarget(
    parseTarget(target.startsWith("/") ? target : `/${target}`),
    context.scope,
  );
  if (place.kind === "variable") throw badTarget(step.id, "a Write writes a file");
  return place.path;
}

/** Says of a model's files that they are being written, before the model is called. */
export function announceFiles(writer: Writer): void {
  const { context, step } = writer;
  if (getStepType(step) !== "LLM" || typeof step.out !== "object" || step.out === null) return;
  for (const [text] of outEntries(step.out)) {
    const path = text.startsWith("/") ? announced(text, writer) : null;
    if (path !== null) context.emit("file_start", step.id, { path });
  }
}

// A placeholder may need the answer that is to come.
function announced(text: string, writer: Writer): string | null {
  try {
    const place = resolveTarget(parseTarget(text), writer.context.scope);
    return place.kind === "file" ? rooted(writer, place.path) : null;
  } catch {
    return null;
  }
}

/**
 * Writes a file under the rules of `registry.files`, and tells of it.
 *
 * @throws WorkflowError `NO_ADAPTER`, `BAD_MODE`, `PATH_REFUSED`, and what the adapter throws.
 */
export async function writeFile(
  writer: Writer,
  path: string,
  data: string | Uint8Array,
  mode: string,
): Promise<void> {
  const { context, step } = writer;
  const { file } = context.run.setup.adapters;
  if (!file) {
    throw new WorkflowError({
      code: "NO_ADAPTER",
      kind: "failed",
      message: `${step.id} writes ${path}, and there is no adapter "file"`,
      hint: "give the run the adapter file",
    });
  }
  if (!isMode(mode)) throw badTarget(step.id, `${JSON.stringify(mode)} is no mode of a Write`);
  const inside = rooted(writer, path);
  if (getStepType(step) !== "LLM") context.emit("file_start", step.id, { path: inside });
  const { size_bytes } = await untilAborted(writer.signal, () => file.write(inside, data, mode));
  const artifact = { path: inside, size_bytes };
  context.written.artifacts.push(artifact);
  context.run.state.artifacts[inside] = artifact;
  context.emit("file_done", step.id, artifact);
}

/** The path from the root; `.tmp/x` lies in a folder of the run's own. */
function rooted({ context, step }: Writer, given: string): string {
  const path = given.replace(/^\/+/, "");
  const parts = path.split("/");
  if (path === "" || parts.includes("..") || path.includes("\0")) {
    throw badTarget(step.id, `${JSON.stringify(given)} leads out of the folder of the run`);
  }
  const { state, workflow } = context.run;
  if (parts[0] === ".tmp") return [temporaryFolder(state.runID), ...parts.slice(1)].join("/");
  const globs = workflow.document.registry.files?.artifacts ?? [];
  if (globs.length === 0 || picomatch.isMatch(path, globs.map(fromRoot), { dot: true }))
    return path;
  throw badTarget(step.id, `${path} is outside of registry.files.artifacts (${globs.join(", ")})`);
}

const fromRoot = (glob: string): string => glob.replace(/^\/+/, "");

const fileData = (value: unknown): string | Uint8Array =>
  value instanceof Uint8Array ? value : toText(value, 2);

const isMode = (mode: string): mode is FileMode => Object.hasOwn(WriteMode, mode);

const badTarget = (id: string, what: string): WorkflowError =>
  new WorkflowError({
    code: "PATH_REFUSED",
    kind: "failed",
    message: `${id}: ${what}`,
    hint: "write to a $variable, or to a path under the run's folder that the registry allows",
  });
