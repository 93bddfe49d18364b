import type { RunStatus, StepStatus } from "./terms.ts";

/* The records of runs in the protocol. The tables and the API write null for a missing field. */

/** A run of a plan. */
export type WorkflowRun = {
  /** `run_…` */
  id: string;
  workflow_id: string;
  trigger_data: string | null;
  status: RunStatus;
  /** ISO 8601. */
  started_at: string;
  completed_at?: string;
  error?: string;
  duration_ms?: number;
};

/** One step in one run. */
export type StepRun = {
  /** `sr_…` */
  id: string;
  run_id: string;
  step_id: string;
  status: StepStatus;
  /** The whole output as JSON text. */
  output_json?: string;
  error?: string;
  started_at?: string;
  completed_at?: string;
  duration_ms?: number;
};

/** The conversation of a step's agent. Only a retry of the same step continues it. */
export type Session = {
  id: string;
  step_run_id: string;
  sdk_session_id?: string;
  created_at: string;
  last_used_at: string;
  is_active: boolean;
};
