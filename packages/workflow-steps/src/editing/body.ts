import { isRecord, listOf, shortened } from "@uncaged/workflow/editing";
import { nameOf } from "../document/document.ts";
import { type StepRecord, typeOf } from "./steps.ts";

const longest = 72;

/** Returns the lines of a step's body: its action, its inputs and the target of its result. */
export function linesOf(step: StepRecord, registry: Readonly<Record<string, unknown>>): string[] {
  const { next } = step;
  const condition = step.if === undefined ? [] : [`if ${written(step.if)}`];
  const body = bodies[typeOf(step) ?? ""] ?? callLines;
  const leaves = next === "BREAK" ? ["leaves the loop"] : [];
  return [...condition, ...body(step, registry), ...leaves].map((line) => shortened(line, longest));
}

type Body = (step: StepRecord, registry: Readonly<Record<string, unknown>>) => string[];

/** Returns the part of a step's id after its type and number. */
const calleeOf = ({ id }: StepRecord, known: readonly string[] = []): string => nameOf(id, known);

export function toolOf(step: StepRecord): string {
  const name = step.tool ?? step.toolName;
  return typeof name === "string" && name !== "" ? name : calleeOf(step);
}

/** The inputs of a call; `in` takes precedence over `input`. */
export function inputsOf({ in: inputs, input }: StepRecord): Readonly<Record<string, unknown>> {
  const found = inputs ?? input;
  return isRecord(found) ? found : {};
}

/** Returns the text of a value: an expression without its `=`, a text that begins with `==` without the first `=`. */
function written(value: unknown): string {
  if (typeof value === "string")
    return value.startsWith("==") ? value.slice(1) : value.replace(/^=/, "");
  return JSON.stringify(value) ?? "";
}

const entries = (values: Readonly<Record<string, unknown>>, most: number): string[] =>
  Object.entries(values)
    .slice(0, most)
    .map(([name, value]) => `${name}: ${written(value)}`);

function resultLines({ out }: StepRecord): string[] {
  if (typeof out === "string" && out !== "") return [`→ ${out}`];
  const names = isRecord(out) ? Object.keys(out) : [];
  return names.length > 0 ? [`→ ${names.join(", ")}`] : [];
}

const goesOn = ({ allowError, continueOnError }: StepRecord): boolean =>
  allowError === true || continueOnError === true;

const callLines: Body = (step) => [...entries(inputsOf(step), 2), ...resultLines(step)];

const bodies: Readonly<Record<string, Body>> = {
  LLM: (step) => {
    const { prompt, system, model = step.model, messages } = inputsOf(step);
    const asked = prompt ?? system ?? listOf(messages).at(-1);
    const text = isRecord(asked) ? asked.content : asked;
    return [
      ...(model === undefined ? [] : [written(model)]),
      ...(text === undefined ? [] : [`“${written(text)}”`]),
      ...resultLines(step),
    ];
  },
  Tool: (step) => [
    `${step.tool === "" ? "which tool?" : toolOf(step)}${goesOn(step) ? ", continues after an error" : ""}`,
    ...entries(inputsOf(step), 2),
    ...resultLines(step),
  ],
  Subflow: (step) => [
    written(inputsOf(step).workflow_path ?? "which workflow?"),
    ...resultLines(step),
  ],
  Set: (step) => [
    ...(step.target === undefined ? [] : [`${written(step.target)} = ${written(step.value)}`]),
    ...(isRecord(step.out)
      ? Object.entries(step.out)
          .slice(0, 3)
          .map(([name, value]) => `${name} = ${written(value)}`)
      : []),
  ],
  Write: ({ target, value, mode = "overwrite" }) => [
    `${written(target)}${mode === "overwrite" ? "" : ` (${written(mode)})`}`,
    ...(value === undefined ? [] : [written(value)]),
  ],
  Branch: () => [],
  Loop: (step) => {
    const { source, maxIterations, mode } = step;
    if (step.while !== undefined) {
      return [`while ${written(step.while)}, at most ${written(maxIterations)} times`];
    }
    return [`for each of ${written(source)}${mode === "parallel" ? ", in parallel" : ""}`];
  },
  Fork: ({ errorStrategy }) => (errorStrategy === undefined ? [] : [written(errorStrategy)]),
  Noop: ({ print }) => (print === undefined ? [] : [`prints ${written(print)}`]),
  Pause: ({ reason, resumeResultTarget, timeout }) => [
    ...(reason === undefined ? [] : [`“${written(reason)}”`]),
    `answer → ${written(resumeResultTarget ?? "where?")}`,
    ...(isRecord(timeout) ? [`for ${written(timeout.sec)} s`] : []),
  ],
  Stop: ({ reason }) => (reason === undefined ? [] : [`“${written(reason)}”`]),
  API: (step, { apis }) => {
    const ids = listOf(apis).flatMap((one) => (isRecord(one) ? [String(one.id)] : []));
    const name = calleeOf(step, ids);
    const api = listOf(apis).find((one) => isRecord(one) && one.id === name);
    const { method = "GET", url = name } = isRecord(api) ? api : {};
    return [`${written(method)} ${written(url)}`, ...resultLines(step)];
  },
  Service: (step) => [calleeOf(step), ...callLines(step, {})],
  Component: (step) => [calleeOf(step), ...callLines(step, {})],
  Download: (step) => [written(inputsOf(step).source ?? "from where?"), ...resultLines(step)],
  Unzip: (step) => [written(inputsOf(step).source ?? "which archive?"), ...resultLines(step)],
};
