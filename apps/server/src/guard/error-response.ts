import { toErrorRecord, WorkflowError } from "@uncaged/workflow/host";
import { HTTPException } from "hono/http-exception";
import type { z } from "zod";
import type { runFailureSchema } from "../schema/run.ts";
import type { Failure } from "../schema/server.ts";
import { isForRun } from "./body.ts";

/** The statuses of error responses; 500 is for bugs. */
type ErrorStatus = 400 | 401 | 403 | 404 | 409 | 413 | 429 | 500;

const byCode: Record<string, ErrorStatus> = {
  FOREIGN_HOST: 403,
  FOREIGN_ORIGIN: 403,
  NO_TOKEN: 401,
  WRONG_TOKEN: 401,
  BODY_TOO_LARGE: 413,
  TOO_MANY_STREAMS: 429,
  TOO_MANY_UPLOADS: 429,
};

const byKind = { usage: 400, missing: 404, failed: 409 } as const;

/**
 * The status and the body for an error. A bug is reported without its text, and a path without that of
 * the storage root: clients need not know where that is.
 */
function errorResponseOf(thrown: unknown, root: string): { status: ErrorStatus; body: Failure } {
  const { code, kind, message, hint, details } = toErrorRecord(fromFramework(thrown));
  if (code === "INTERNAL") return { status: 500, body: { error: internal } };
  const plain = (text: string) =>
    text.replaceAll(`${root}/`, "").replaceAll(root, "the storage root");
  const error = { code, message: plain(message), hint: hint === undefined ? null : plain(hint) };
  return {
    status: byCode[code] ?? byKind[kind],
    body: { error: details ? { ...error, details: details.map(plain) } : error },
  };
}

const internal = {
  code: "INTERNAL",
  message: "the server has a bug",
  hint: "the terminal in which the server runs shows what happened; please report it",
};

// The framework throws one error of its own: that a body is no JSON.
function fromFramework(thrown: unknown): unknown {
  if (!(thrown instanceof HTTPException) || thrown.status >= 500) return thrown;
  return new WorkflowError({
    code: "BAD_JSON",
    kind: "usage",
    message: "the body is no JSON",
    hint: "send a JSON object with Content-Type: application/json",
  });
}

/** The error for a request that does not match its schema: each finding with its path. */
export function violation(target: string, { issues }: z.core.$ZodError): WorkflowError {
  const [first = "it does not match", ...others] = issues.map(({ path, message }) =>
    [[target, ...path].map(String).join("."), message].join(": "),
  );
  return new WorkflowError({
    code: "BAD_REQUEST",
    kind: "usage",
    message: first,
    hint: "see /api/openapi.json for what this path takes",
    ...(others.length > 0 && { details: [first, ...others] }),
  });
}

/** The error that there is nothing at a path. */
export function noSuchPath(method: string, path: string): WorkflowError {
  return new WorkflowError({
    code: "NO_SUCH_PATH",
    kind: "missing",
    message: `there is no ${method} ${path.slice(0, 200)}`,
    hint: "see /api/openapi.json for what there is",
  });
}

/** Errors of a workflow, its params or a checkpoint are errors of the request. */
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

/** Those whose text the documented API fixes. */
const documented: ReadonlySet<string> = new Set(["RUN_NOT_FOUND", "NO_CHECKPOINT"]);

type RunErrorResponse = { status: ErrorStatus; body: z.infer<typeof runFailureSchema> };

/** The status and the body that answer a request with an error. */
export const errorResponseTo = (
  request: Request,
  thrown: unknown,
  root: string,
): RunErrorResponse | ReturnType<typeof errorResponseOf> =>
  isForRun(request) ? runErrorResponseOf(thrown, root) : errorResponseOf(thrown, root);

/** As {@link errorResponseOf}, under the paths of runs: `error` is a text there. */
function runErrorResponseOf(thrown: unknown, root: string): RunErrorResponse {
  const { status: usual, body } = errorResponseOf(thrown, root);
  const { code, message, hint, details } = body.error;
  if (documented.has(code)) return { status: usual, body: { error: message } };
  const status = invalid.has(code) ? 400 : usual;
  const messages = details ?? (status === 400 ? [message] : undefined);
  return { status, body: { error: message, code, hint, ...(messages && { messages }) } };
}
