import type { Root } from "@uncaged/workflow/host";
import type { z } from "zod";
import { isForRun } from "../guard/body.ts";
import { type RefusalStatus, refusalOf } from "../guard/refusal.ts";
import type { runFailureShape } from "../shape/run.ts";

/** What is wrong with a workflow, its params or a checkpoint is wrong with the request. */
const invalid: ReadonlySet<string> = new Set([
  "CHECKPOINT_INVALID",
  "DECLARATION_INVALID",
  "NO_STEP_WORKFLOW",
  "NO_SUCH_STEP",
  "OVERRIDE_UNKNOWN",
  "PARAMS_INVALID",
  "PLACE_UNKNOWN",
  "STEPS_INVALID",
  "STEP_AMBIGUOUS",
  "SUBFLOW_CYCLE",
  "SUBFLOW_MISSING",
  "SUBFLOW_TOO_DEEP",
  "VALUE_NOT_JSON",
  "VALUE_TOO_DEEP",
  "WORKFLOW_INVALID",
]);

/** Those that the documented API gives word by word. */
const documented: ReadonlySet<string> = new Set(["RUN_NOT_FOUND", "NO_CHECKPOINT"]);

type RunRefusal = { status: RefusalStatus; body: z.infer<typeof runFailureShape> };

/** The status and the body that tell a request's sender of an error. */
export const refusalTo = (
  request: Request,
  thrown: unknown,
  root: Root,
): RunRefusal | ReturnType<typeof refusalOf> =>
  isForRun(request) ? runRefusalOf(thrown, root) : refusalOf(thrown, root);

/** The status and the body that tell of an error under a run's paths: `error` is a text there. */
function runRefusalOf(thrown: unknown, root: Root): RunRefusal {
  const { status: usual, body } = refusalOf(thrown, root);
  const { code, message, hint, details } = body.error;
  if (documented.has(code)) return { status: usual, body: { error: message } };
  const status = invalid.has(code) ? 400 : usual;
  const messages = details ?? (status === 400 ? [message] : undefined);
  return { status, body: { error: message, code, hint, ...(messages && { messages }) } };
}
