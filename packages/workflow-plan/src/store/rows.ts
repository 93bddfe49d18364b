import type { PlanMetadata, Workflow } from "../plan/plan.ts";
import type { RunStatus, StepStatus, WorkflowPhase } from "../plan/terms.ts";
import { columnNotJson, columnType } from "./errors.ts";

/* The rows of the tables: the plan protocol defines their columns. */

/** A row of `workflow_runs`. */
export type RunRow = {
  id: string;
  workflow_id: string;
  trigger_data: string | null;
  status: RunStatus;
  started_at: string;
  completed_at: string | null;
  error: string | null;
  duration_ms: number | null;
};

/** A row of `step_runs`. */
export type StepRow = {
  id: string;
  run_id: string;
  step_id: string;
  status: StepStatus;
  output_json: string | null;
  error: string | null;
  started_at: string | null;
  completed_at: string | null;
  duration_ms: number | null;
};

/** A row of `sessions`. */
export type SessionRow = {
  id: string;
  step_run_id: string;
  sdk_session_id: string | null;
  created_at: string;
  last_used_at: string;
  is_active: number;
};

export type { TriggerState } from "../trigger/state.ts";

/** A row of `workflows`. */
export type WorkflowRow = {
  id: string;
  name: string;
  description: string;
  trigger_json: string;
  steps_json: string;
  failure_policy_json: string;
  phase: WorkflowPhase;
  schema_version: string;
  metadata_json: string | null;
  created_at: string;
  updated_at: string;
};

type JsonColumn = `${string}_json` & keyof WorkflowRow;

const isObject = (value: unknown): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The types of values in the JSON columns. */
const forms: Record<JsonColumn, [fits: (value: unknown) => boolean, type: string]> = {
  trigger_json: [isObject, "an object"],
  steps_json: [Array.isArray, "a list"],
  failure_policy_json: [isObject, "an object"],
  metadata_json: [(value) => value === null || isObject(value), "an object"],
};

/**
 * Returns the value of a column.
 * @throws ExecutorError that names the plan and the column, when it is damaged.
 */
export function valueIn(
  { id, ...row }: Pick<WorkflowRow, "id"> & Partial<WorkflowRow>,
  column: JsonColumn,
): unknown {
  const [fits, type] = forms[column];
  try {
    const value: unknown = JSON.parse(row[column] ?? "null");
    if (fits(value)) return value;
  } catch {
    throw columnNotJson(id, column);
  }
  throw columnType(id, column, type);
}

/** Returns the plan of a row. @throws ExecutorError when a column is damaged. */
export function workflowOf(row: WorkflowRow): Workflow {
  const { created_at, description, id, name, phase, updated_at } = row;
  const read = (column: JsonColumn) => valueIn(row, column);
  const metadata = read("metadata_json") as PlanMetadata | null;
  return {
    ...{ schema_version: "1.0", id, name, description },
    trigger: read("trigger_json") as Workflow["trigger"],
    steps: read("steps_json") as Workflow["steps"],
    failure_policy: read("failure_policy_json") as Workflow["failure_policy"],
    ...{ phase, created_at, updated_at },
    ...(metadata && { metadata }),
  };
}

/** Returns the row of a plan. */
export const rowOf = (workflow: Workflow): WorkflowRow => ({
  id: workflow.id,
  name: workflow.name,
  description: workflow.description,
  trigger_json: JSON.stringify(workflow.trigger),
  steps_json: JSON.stringify(workflow.steps),
  failure_policy_json: JSON.stringify(workflow.failure_policy),
  phase: workflow.phase,
  schema_version: workflow.schema_version,
  metadata_json: workflow.metadata ? JSON.stringify(workflow.metadata) : null,
  created_at: workflow.created_at,
  updated_at: workflow.updated_at,
});

/** The name of a plan's bundle, in SQL; null if the plan's metadata is damaged. */
export const bundleName =
  "iif(json_valid(w.metadata_json), w.metadata_json ->> '$.bundle.name', NULL)";
