import { WorkflowError } from "@uncaged/workflow";
import { messageOf } from "../adapter/error.ts";
import { ENTRY, type ExecutionStatus, RETURN } from "../document/document.ts";
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

const records = [
  "params",
  "variables",
  "localVars",
  "artifacts",
  "completedBranches",
  "loopProgress",
] as const;
const forbidden = ["__proto__", "constructor", "prototype"];
const newest = 2;
// It is the name of a folder too.
const idForm = /^\w[\w.:-]*$/;

/**
 * A checkpoint that fits the workflow, as a copy.
 *
 * @throws WorkflowError `CHECKPOINT_INVALID`, with all that is wrong in `details`.
 */
export function checkCheckpoint(workflow: Workflow, given: unknown): Resumable {
  if (!isPlain(given)) throw invalid(["a checkpoint must be an object"]);
  const problems = [...ofForm(given), ...ofParts(given)];
  if (problems.length > 0) throw invalid(problems);
  const checkpoint = copied(given);
  const strange = ofWorkflow(workflow, checkpoint);
  if (strange.length > 0) throw invalid(strange);
  return { ...checkpoint, params: workflow.registry.someParams(checkpoint.params) };
}

function ofForm(given: Record<string, unknown>): string[] {
  const { _type, _version, currentStepID, workflowID } = given;
  const problems: string[] = [];
  if (Object.hasOwn(given, "__proto__")) problems.push("it has the key __proto__");
  if (_type !== undefined && _type !== checkpointType) {
    problems.push(`its _type is ${JSON.stringify(_type)}, not "${checkpointType}"`);
  }
  if (_version !== undefined && !(typeof _version === "number" && _version <= newest)) {
    problems.push(`its _version is ${JSON.stringify(_version)}; ${newest} is the newest known`);
  }
  if (typeof currentStepID !== "string") problems.push("it has no currentStepID");
  if (workflowID !== undefined && !(typeof workflowID === "string" && idForm.test(workflowID))) {
    problems.push(`its workflowID ${JSON.stringify(workflowID)} is no id of a run`);
  }
  if (_type !== undefined) {
    const missing = ["params", "variables"].filter((name) => given[name] === undefined);
    problems.push(...missing.map((name) => `it has no ${name}`));
  }
  return problems;
}

function ofParts(given: Record<string, unknown>): string[] {
  return records
    .flatMap((name) => {
      const part = given[name];
      if (part === undefined) return [];
      if (!isPlain(part)) return [`its ${name} are no object`];
      const bad = Object.keys(part).find((key) => forbidden.includes(key));
      if (bad !== undefined) return [`its ${name} have the key ${bad}`];
      if (hasProto(part)) return [`its ${name} hold the key __proto__`];
      if (name === "completedBranches" && !Object.values(part).every(isListOfTexts)) {
        return ["its completedBranches are not lists of step ids"];
      }
      if (name === "loopProgress" && !Object.values(part).every(isCount)) {
        return ["its loopProgress is not made of whole numbers"];
      }
      return [];
    })
    .concat(
      given.completedSteps === undefined || isListOfTexts(given.completedSteps)
        ? []
        : ["its completedSteps are no list of step ids"],
      given.eventSeq === undefined || isCount(given.eventSeq) ? [] : ["its eventSeq is no number"],
    );
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

const isListOfTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((item) => typeof item === "string");

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;

function invalid(problems: string[]): WorkflowError {
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : "";
  return new WorkflowError({
    code: "CHECKPOINT_INVALID",
    kind: "failed",
    message: `the checkpoint can't be used: ${problems[0]}${more}`,
    hint: "take one that this workflow made, whole",
    ...(problems.length > 1 && { details: problems }),
  });
}
