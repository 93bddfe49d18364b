import { type Root, toErrorRecord, WorkflowError } from "@uncaged/workflow/host";
import { HTTPException } from "hono/http-exception";
import type { z } from "zod";
import type { Failure } from "../shape/failure.ts";

/** The statuses that a refusal may have, beside 500 for a fault of our own. */
export type RefusalStatus = 400 | 401 | 403 | 404 | 409 | 413 | 429 | 500;

const byCode: Record<string, RefusalStatus> = {
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
 * The status and the body that tell of an error. A fault of our own is told without its text, and a path
 * without that of the storage root: whoever asks need not know where it lies.
 */
export function refusalOf(thrown: unknown, root: Root): { status: RefusalStatus; body: Failure } {
  const { code, kind, message, hint, details } = toErrorRecord(fromFramework(thrown));
  if (code === "INTERNAL") return { status: 500, body: { error: fault } };
  const plain = (text: string) =>
    text.replaceAll(`${root}/`, "").replaceAll(root, "the storage root");
  const error = { code, message: plain(message), hint: hint === undefined ? null : plain(hint) };
  return {
    status: byCode[code] ?? byKind[kind],
    body: { error: details ? { ...error, details: details.map(plain) } : error },
  };
}

const fault = {
  code: "INTERNAL",
  message: "the server came upon a fault of its own",
  hint: "what happened stands in the terminal in which the server runs; please report it",
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

/** The error that a request does not fit its schema: each finding with its place. */
export function misfit(target: string, { issues }: z.core.$ZodError): WorkflowError {
  const [first = "it does not fit", ...others] = issues.map(({ path, message }) =>
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
