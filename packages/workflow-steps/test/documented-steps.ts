import type { StepDocument, WorkflowDocument } from "../src/entry/index.ts";

/* The steps of the documented API and of its note on tools, copied verbatim. */

const readSpec = `{
  "id": "Tool_010_ReadSpec",
  "tool": "ReadFile",
  "input": {
    "file_path": "=\\"docs/spec.md\\""
  },
  "out": {
    "$specText": "=_result",
    "$rawReadFileEnvelope": "=_toolResult"
  },
  "next": "Stop_End"
}`;

const readSpecOfTools = `{
  "id": "Tool_010_ReadSpec",
  "tool": "ReadFile",
  "input": {
    "file_path": "=\\"docs/spec.md\\""
  },
  "out": {
    "$specText": "=_result",
    "$rawTool": "=_toolResult"
  },
  "next": "Stop_End"
}`;

const editFile = `{
  "id": "Tool_020_EditFile",
  "tool": "EditFile",
  "input": {
    "file_path": "=\\"Apps/Main.vx\\"",
    "old_string": "=\\"old\\"",
    "new_string": "=\\"new\\""
  },
  "out": {
    "$editSummary": "=_result",
    "$editDiff": "=_toolResult.diff",
    "$undoId": "=_toolResult.undoId"
  }
}`;

const compile = `{
  "id": "Tool_030_Compile",
  "tool": "VLCompile",
  "allowError": true,
  "input": {},
  "out": {
    "$compileOk": "=_result.ok",
    "$compileError": "=_result.error"
  },
  "next": "Branch_040_HandleCompile"
}`;

const runWorker = `{
  "id": "Tool_010_RunWorker",
  "tool": "WorkflowRun",
  "input": {
    "mode": "sync",
    "workflow_path": "=\\"examples/workflows/vlclaw-worker-spec.json\\"",
    "params": {
      "goal": "=goal",
      "artifactPath": "=$specPath"
    }
  },
  "out": {
    "$workerRun": "=_result"
  },
  "next": "RETURN"
}`;

/** The path of the workflow that the last step runs. */
export const workerPath = "examples/workflows/vlclaw-worker-spec.json";
export const worker: WorkflowDocument = {
  version: "3.16",
  name: "worker",
  registry: { params: ["goal(STRING)", "artifactPath(STRING)"], vars: ["$did(STRING)"] },
  steps: [
    { id: "Set_Did", target: "$did", value: "=goal + ' at ' + artifactPath", next: "Stop_Worker" },
    { id: "Stop_Worker" },
  ],
};

const stop: StepDocument = { id: "Stop_End" };
const handle: StepDocument = {
  id: "Branch_040_HandleCompile",
  cases: [["$compileOk == false", "Set_Handled"]],
  next: "Stop_End",
};
const handled: StepDocument = {
  id: "Set_Handled",
  target: "$handled",
  value: true,
  next: "RETURN",
};

export type Documented = {
  what: string;
  document: WorkflowDocument;
  /** The variables at the end of the run. */
  variables: Record<string, unknown>;
};

const documented = (
  what: string,
  text: string,
  { params = [] as string[], vars = [] as string[], steps = [] as StepDocument[] },
  variables: Record<string, unknown>,
): Documented => {
  const own = Object.keys(variables).map((name) => `${name}(ANY)`);
  const registry = { params, vars: [...new Set([...own, ...vars])] };
  const all = [JSON.parse(text) as StepDocument, ...steps];
  return {
    what,
    document: { version: "3.16", name: "documented", registry, steps: all },
    variables,
  };
};

/** The documented steps, each in a workflow with the variables, params and steps that the step refers to. */
export const documentedSteps: Documented[] = [
  documented(
    "5.6: a tool step",
    readSpec,
    { steps: [stop] },
    {
      $specText: "# Spec\n",
      $rawReadFileEnvelope: "# Spec\n",
    },
  ),
  documented(
    "step shape",
    readSpecOfTools,
    { steps: [stop] },
    {
      $specText: "# Spec\n",
      $rawTool: "# Spec\n",
    },
  ),
  documented(
    "runtime variables",
    editFile,
    { vars: ["$undoId(ANY)"] },
    {
      $editSummary: "changed Apps/Main.vx",
      $editDiff: "--- a/Apps/Main.vx\n+++ b/Apps/Main.vx\n@@ -1,2 +1,2 @@\n-old\n+new\n ",
    },
  ),
  documented(
    "error handling",
    compile,
    { vars: ["$compileError(ANY)"], steps: [handle, handled, stop] },
    {
      $compileOk: false,
      $handled: true,
    },
  ),
  documented(
    "workflow of workflows",
    runWorker,
    { params: ['goal(STRING) = "a plan"'], vars: ['$specPath(STRING) = "docs/spec.md"'] },
    { $workerRun: { status: "stopped", variables: { $did: "a plan at docs/spec.md" } } },
  ),
];

/** The files that the steps read, by path. */
export const documentedFiles: Record<string, string> = {
  "docs/spec.md": "# Spec\n",
  "Apps/Main.vx": "old\n",
  [workerPath]: JSON.stringify(worker),
};
