import { type ErrorRecord, toErrorRecord, type WorkflowError } from "@uncaged/workflow/host";
import { show } from "@uncaged/workflow/internal";
import { nearestName } from "@uncaged/workflow/document";
import { HTTPException } from "hono/http-exception";
import { z } from "zod";
import type { graphFailureSchema } from "../schema/graph.ts";
import type { runFailureSchema } from "../schema/run.ts";
import type { Failure } from "../schema/server.ts";
import { isForRun } from "./body.ts";
import { badJson, badRequest } from "./errors.ts";

type ErrorStatus = 400 | 401 | 403 | 404 | 408 | 409 | 413 | 429 | 500 | 503;

type RunFailure = z.infer<typeof runFailureSchema>;
type GraphFailure = z.infer<typeof graphFailureSchema>;
type ErrorResponse = {
  status: ErrorStatus;
  headers: Record<string, string>;
  body: Failure | RunFailure | GraphFailure;
};

const byCode: Record<string, ErrorStatus> = {
  FOREIGN_HOST: 403,
  FOREIGN_ORIGIN: 403,
  NO_TOKEN: 401,
  WRONG_TOKEN: 401,
  TOKEN_EXPIRED: 401,
  ROLE_TOO_LOW: 403,
  BODY_TOO_LARGE: 413,
  BODY_CUT_OFF: 400,
  BODY_TOO_SLOW: 408,
  DATABASE_TLS: 503,
  FILE_UNREADABLE: 500,
  GRAPH_NOT_RUN: 500,
  INTERNAL: 500,
  NO_DATABASE: 503,
  NO_PROVIDER_KEY: 503,
  SHUTTING_DOWN: 503,
  TOO_MANY_STREAMS: 503,
  TOO_MANY_UPLOADS: 429,
};

const retryAfterS = 5;

const byKind = { usage: 400, missing: 404, failed: 409 } as const;

/** Error codes with status 400 on the paths of runs: errors in a workflow, its params or a checkpoint. */
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
  "VALUE_TOO_DEEP",
  "WORKFLOW_INVALID",
]);

/** Tells whether a request is for the documented API of agent graphs. */
const isForGraph = ({ url }: Request): boolean =>
  /^\/api\/(run|run-stream|resume|resume-stream|cancel|retry|config|default-workflow)(\/|$)/.test(
    URL.parse(url)?.pathname ?? "",
  );

const documented: ReadonlySet<string> = new Set(["RUN_NOT_FOUND", "NO_CHECKPOINT"]);

/**
 * Returns the status, the headers and the body of an error response. Hides the text of internal errors, and removes the
 * storage root's path from messages. On the paths of runs and of agent graphs, `error` is a text.
 */
export function errorResponseTo(request: Request, thrown: unknown, root: string): ErrorResponse {
  const known = rewritten(fromFramework(thrown), (text) =>
    text.replaceAll(`${root}/`, "").replaceAll(root, "the storage root"),
  );
  const { code, kind, message, hint = null, details } = known.code === "INTERNAL" ? bug : known;
  const usual = byCode[code] ?? byKind[kind];
  const headers: Record<string, string> =
    code === "TOO_MANY_STREAMS" || code === "SHUTTING_DOWN"
      ? { "Retry-After": String(retryAfterS) }
      : {};
  if (isForGraph(request)) {
    const [first] = details ?? [];
    return {
      status: usual,
      headers,
      body: { error: message, code, hint, details: usual === 500 ? first : details },
    };
  }
  if (!isForRun(request))
    return { status: usual, headers, body: { error: { code, message, hint, details } } };
  if (documented.has(code)) return { status: usual, headers, body: { error: message } };
  const status = invalid.has(code) ? 400 : usual;
  const messages = details ?? (status === 400 ? [message] : undefined);
  return { status, headers, body: { error: message, code, hint, messages } };
}

/** Returns an error's record with `rewrite` applied to each text. */
export function rewritten(error: unknown, rewrite: (text: string) => string): ErrorRecord {
  const { message, hint, details, ...record } = toErrorRecord(error);
  return {
    ...record,
    message: rewrite(message),
    ...(hint !== undefined && { hint: rewrite(hint) }),
    ...(details && { details: details.map(rewrite) }),
  };
}

const bug: ErrorRecord = {
  code: "INTERNAL",
  kind: "failed",
  message: "the server has a bug",
  hint: "the terminal in which the server runs shows what happened; please report it",
};

// The framework throws only for an invalid JSON body.
function fromFramework(thrown: unknown): unknown {
  if (!(thrown instanceof HTTPException) || thrown.status >= 500) return thrown;
  return badJson();
}

/**
 * Returns the error for a request that does not match its schema, with the path of each finding. If the API documents a
 * `text` for this error, the findings become its details.
 */
export function violation(
  target: string,
  { issues }: z.core.$ZodError,
  schema?: z.ZodType,
  text?: string,
): WorkflowError {
  const findings = issues.flatMap((issue): string[] => {
    const at = [target, ...issue.path].map(String);
    if (issue.code !== "unrecognized_keys") return [`${at.join(".")}: ${issue.message}`];
    const known = namesAt(schema, issue.path);
    return issue.keys.map((key) => `${[...at, shown(key)].join(".")}: ${unknownName(key, known)}`);
  });
  const isList = text !== undefined || findings.length > 1;
  return badRequest(text ?? findings[0] ?? "the request does not match", isList ? findings : null);
}

const shown = (name: string): string => (/^[\w-]{1,64}$/.test(name) ? name : show(name));

function unknownName(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  if (nearest !== null) return `unknown name; did you mean ${nearest}?`;
  const all = known.length > 0 ? `; there are ${known.join(", ")}` : "";
  return `unknown name${all}`;
}

/** Returns the allowed keys of an object at a path of a schema. */
function namesAt(schema: z.ZodType | undefined, path: readonly PropertyKey[]): string[] {
  let at: unknown = schema;
  for (const name of [...path, null]) {
    while (at instanceof z.ZodOptional || at instanceof z.ZodNullable || at instanceof z.ZodDefault)
      at = at.unwrap();
    if (!(at instanceof z.ZodObject)) return [];
    if (name === null) return Object.keys(at.shape);
    at = at.shape[name as string];
  }
  return [];
}
