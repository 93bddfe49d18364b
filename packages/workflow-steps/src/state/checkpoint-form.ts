import { messageOf } from "../adapter/error.ts";
import { ENTRY, type ExecutionStatus, failure, RETURN } from "../document/document.ts";
import { type Form, violationsOf } from "../document/form.ts";
import { isPlain } from "../expression/value.ts";
import { type Artifact, type Workflow, writable } from "./state.ts";

/** The `_type` of a checkpoint. */
export const checkpointType = "vl_workflow_checkpoint";

/**
 * A run's state as JSON, version 2 of the documented format. `currentStepID` is the step that runs
 * next; inside a fork or a loop it is the outermost construct's id, after the last step and after a Stop
 * `RETURN`. `threadId` and `steps` are there when it is a fold of a thread's log.
 */
export type Checkpoint = {
  _type: typeof checkpointType;
  _version: 2;
  workflowID: string;
  currentStepID: string;
  status: ExecutionStatus;
  params: Record<string, unknown>;
  paramTypes: Record<string, string>;
  variables: Record<string, unknown>;
  varTypes: Record<string, string>;
  localVars: Record<string, unknown>;
  artifacts: Record<string, Artifact>;
  completedSteps: string[];
  completedBranches: Record<string, string[]>;
  loopProgress: Record<string, number>;
  eventSeq: number;
  version: string;
  createdAt: string;
  threadId?: string;
  steps?: number;
};

/** What a run can be resumed from: a checkpoint, or an object with as little as the step's id. */
export type Resumable = Partial<Omit<Checkpoint, "_type" | "_version">> & {
  _type?: string;
  _version?: number;
  currentStepID: string;
};

const names: Form = { type: "array", items: { type: "string" } };
const values: Form = { type: "object" };
const count: Form = { type: "integer", minimum: 0 };

/** The form of a checkpoint. What is not here is another program's, and kept. */
const checkpointForm = {
  type: "object",
  properties: {
    _type: { type: "string", enum: [checkpointType] },
    _version: { type: "number", maximum: 2, expected: "2, the newest version that is known, or 1" },
    // It is the name of a folder too.
    workflowID: { type: "string", pattern: "^\\w[\\w.:-]*$", expected: "the id of a run" },
    currentStepID: { type: "string" },
    params: values,
    variables: values,
    localVars: values,
    artifacts: values,
    completedSteps: names,
    completedBranches: { type: "object", additionalProperties: names },
    loopProgress: { type: "object", additionalProperties: count },
    eventSeq: count,
  },
  required: ["currentStepID"],
} as const satisfies Form;

const records = Object.entries<Form>(checkpointForm.properties).flatMap(([name, { type }]) =>
  type === "object" ? [name] : [],
);
const forbidden = ["__proto__", "constructor", "prototype"];

/**
 * A checkpoint that fits the workflow, as a copy.
 *
 * @throws WorkflowError `CHECKPOINT_INVALID`, with all that is wrong in `details`.
 */
export function checkCheckpoint(workflow: Workflow, given: unknown): Resumable {
  if (!isPlain(given)) throw invalid(["a checkpoint must be an object"]);
  const form = { ...checkpointForm, required: required(given) };
  const problems = violationsOf(form, given, []).map(({ text }) => text);
  problems.push(...forbiddenKeys(given));
  if (problems.length > 0) throw invalid(problems);
  const checkpoint = copied(given);
  const strange = ofWorkflow(workflow, checkpoint);
  if (strange.length > 0) throw invalid(strange);
  return { ...checkpoint, params: workflow.registry.someParams(checkpoint.params) };
}

// One with a type is of a run, and whole.
const required = ({ _type }: Record<string, unknown>): readonly string[] =>
  _type === undefined ? checkpointForm.required : ["currentStepID", "params", "variables"];

function forbiddenKeys(given: Record<string, unknown>): string[] {
  if (Object.hasOwn(given, "__proto__")) return ["it has the key __proto__"];
  return records.flatMap((name) => {
    const part = given[name];
    if (!isPlain(part)) return [];
    const bad = Object.keys(part).find((key) => forbidden.includes(key));
    if (bad !== undefined) return [`its ${name} have the key ${bad}`];
    return hasProto(part) ? [`its ${name} hold the key __proto__`] : [];
  });
}

// A checkpoint does not name its workflow: it is another's when it knows what this one does not.
function ofWorkflow({ outline, registry }: Workflow, checkpoint: Resumable): string[] {
  const known = (id: string): boolean => outline.steps.has(id) || id === ENTRY;
  const ids = [
    ...(checkpoint.currentStepID === RETURN ? [] : [checkpoint.currentStepID]),
    ...(checkpoint.completedSteps ?? []),
    ...Object.keys(checkpoint.completedBranches ?? {}),
    ...Object.keys(checkpoint.loopProgress ?? {}),
  ];
  const strangers = [...new Set(ids.filter((id) => !known(id)))];
  const variables = Object.keys(checkpoint.variables ?? {});
  const undeclared = variables.filter((name) => !registry.vars.some((one) => one.name === name));
  return [
    ...strangers.map((id) => `the workflow has no step ${JSON.stringify(id)}`),
    ...undeclared.map((name) => `the workflow declares no variable ${JSON.stringify(name)}`),
  ];
}

function copied(given: Record<string, unknown>): Resumable {
  const parts = records.flatMap((name): [string, unknown][] => {
    const part = given[name];
    if (!isPlain(part)) return [];
    const entries = Object.entries(part).map(([key, value]) => [key, copiedValue(value, key)]);
    return [[name, Object.fromEntries(entries)]];
  });
  return { ...(given as Resumable), ...Object.fromEntries(parts) };
}

function copiedValue(value: unknown, name: string): unknown {
  try {
    return writable(value, name);
  } catch (error) {
    throw invalid([messageOf(error)]);
  }
}

function hasProto(value: unknown, depth = 0): boolean {
  if (typeof value !== "object" || value === null || depth > 1000) return false;
  if (Object.hasOwn(value, "__proto__")) return true;
  return Object.values(value).some((part) => hasProto(part, depth + 1));
}

function invalid(problems: string[]) {
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : "";
  return failure(
    "CHECKPOINT_INVALID",
    `the checkpoint can't be used: ${problems[0]}${more}`,
    "take one that this workflow made, whole",
    { ...(problems.length > 1 && { details: problems }) },
  );
}
