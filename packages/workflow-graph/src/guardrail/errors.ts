import { WorkflowError } from "@uncaged/workflow";

/* The errors of guardrails. */

export const noSchemas = (id: string): WorkflowError =>
  WorkflowError.failed(
    "GUARDRAIL_NO_SCHEMAS",
    `${id}: the guardrail has a schema, but the bundle can't check schemas`,
    "pass schemas: checkSchema to graphBundle",
  );

export const badSchema = (message: string): WorkflowError =>
  WorkflowError.failed("GUARDRAIL_INVALID", `the guardrail's schema ${message}`, "fix the schema");

export const guardrailFailed = (id: string, problems: readonly string[]): WorkflowError =>
  WorkflowError.failed(
    "GUARDRAIL_FAILED",
    `${id}: the answer fails the guardrail: ${problems.join("; ")}`,
    "fix the agent's prompt or its guardrail, or connect its handle rejected",
  );
