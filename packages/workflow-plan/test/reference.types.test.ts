// Checked by tsc: the types of the plan protocol, written here independently, equal the types of the entry points.
import { expect, test } from "bun:test";
import type { AllowedRoot, Session, StepRun, WorkflowRun } from "@uncaged/workflow-plan";
import type { MessageRouter, TriggerLoop } from "@uncaged/workflow-plan/service";

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
const is = <A, B>(same: Same<A, B>): boolean => same;

type DocumentedWorkflowRun = {
  id: string;
  workflow_id: string;
  trigger_data: string | null;
  status: "running" | "completed" | "failed";
  started_at: string;
  completed_at?: string;
  error?: string;
  duration_ms?: number;
};

type DocumentedStepRun = {
  id: string;
  run_id: string;
  step_id: string;
  status: "pending" | "running" | "succeeded" | "failed" | "skipped";
  output_json?: string;
  error?: string;
  started_at?: string;
  completed_at?: string;
  duration_ms?: number;
};

type DocumentedSession = {
  id: string;
  step_run_id: string;
  sdk_session_id?: string;
  created_at: string;
  last_used_at: string;
  is_active: boolean;
};

type DocumentedRoot = { path: string; allowReadWrite: boolean; description?: string };

test("the documented types of runs, sessions, mounts and services are exported", () => {
  expect([
    is<WorkflowRun, DocumentedWorkflowRun>(true),
    is<StepRun, DocumentedStepRun>(true),
    is<Session, DocumentedSession>(true),
    is<AllowedRoot, DocumentedRoot>(true),
    is<TriggerLoop extends object ? true : false, true>(true),
    is<MessageRouter extends object ? true : false, true>(true),
  ]).not.toContain(false);
});
