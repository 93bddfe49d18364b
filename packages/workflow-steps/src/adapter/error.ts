import { isWorkflowError, WorkflowError } from "@uncaged/workflow";

const kinds = {
  auth_error: once("check the key and the address: they were not accepted"),
  bad_request: once("change what was asked: the error says what is not accepted"),
  rate_limit: again("wait, and run the step again"),
  timeout: again("run the step again, or allow it more time"),
  context_length_exceeded: once("shorten what the model is given, or use a larger model"),
  content_policy_violation: once("reword the prompt, or use another model"),
  service_unavailable: again("wait, and run the step again"),
  connection_error: again("check the address and the network, and run the step again"),
  json_parse_error: again("run the step again, or ask for a simpler form"),
  schema_validation_error: once("say in the prompt what the schema wants, or loosen the schema"),
  internal_error: once("see what the service says of it, and report it if it stays"),
  unknown_error: once("see the error's own text"),
} satisfies Record<string, { retryable: boolean; hint: string }>;

function once(hint: string) {
  return { retryable: false, hint };
}

function again(hint: string) {
  return { retryable: true, hint };
}

/** What kind of thing went wrong with a call; the documented words. */
export type LLMErrorType = keyof typeof kinds;

/**
 * A call that failed. `code` is the error's own name, that of its type in capitals when there is none;
 * `retryable` follows from the type unless it is given; `status` is an HTTP status.
 *
 *     throw new LLMError("rate_limit", "the service answered 429", { status: 429 });
 */
export class LLMError extends WorkflowError {
  readonly type: LLMErrorType;
  readonly retryable: boolean;
  readonly status: number | null;

  constructor(
    type: LLMErrorType,
    message: string,
    more: { code?: string; retryable?: boolean; status?: number; cause?: unknown } = {},
  ) {
    const { hint, retryable } = kinds[type];
    const code = more.code ?? type.toUpperCase();
    super({ code, kind: "failed", message, hint }, { cause: more.cause });
    this.name = "LLMError";
    this.type = type;
    this.retryable = more.retryable ?? retryable;
    this.status = more.status ?? null;
  }
}

/** `_error` in a workflow: what went wrong in a step. `code` is null when the error has none. */
export type ErrorMap = {
  type: LLMErrorType;
  message: string;
  code: string | null;
  retryable: boolean;
  stepID: string | null;
};

/**
 * The `_error` of whatever was thrown. The type is the error's own when it has one, else that of its
 * HTTP status or of its code; a plain error's is `unknown_error`. Never throws.
 */
export function buildErrorMap(error: unknown, stepID?: string): ErrorMap {
  const code = codeOf(error);
  const type = typeOf(error, code);
  const { retryable } = fieldsOf(error);
  const own = fieldsOf(error).stepID;
  return {
    type,
    message: messageOf(error),
    code,
    retryable: typeof retryable === "boolean" ? retryable : kinds[type].retryable,
    stepID: stepID ?? (typeof own === "string" ? own : null),
  };
}

/** The type of an HTTP status that is a failure. */
export function typeOfStatus(status: number): LLMErrorType {
  const known = statuses[status];
  if (known) return known;
  if (status >= 500) return "internal_error";
  return status >= 400 ? "bad_request" : "unknown_error";
}

const statuses: Readonly<Record<number, LLMErrorType>> = {
  401: "auth_error",
  403: "auth_error",
  407: "auth_error",
  408: "timeout",
  429: "rate_limit",
  502: "service_unavailable",
  503: "service_unavailable",
  504: "timeout",
  529: "service_unavailable",
};

// The words of Node's and Bun's own errors, and of the errors of this repository that are no LLMError.
const codes: Readonly<Record<string, LLMErrorType>> = {
  ECONNREFUSED: "connection_error",
  ECONNRESET: "connection_error",
  ENOTFOUND: "connection_error",
  EAI_AGAIN: "connection_error",
  EHOSTUNREACH: "connection_error",
  ENETUNREACH: "connection_error",
  EPIPE: "connection_error",
  ConnectionRefused: "connection_error",
  ConnectionClosed: "connection_error",
  FailedToOpenSocket: "connection_error",
  ETIMEDOUT: "timeout",
  TIMEOUT: "timeout",
  TOOL_TIMEOUT: "timeout",
  TOOL_INPUT: "bad_request",
  TOOL_UNKNOWN: "bad_request",
};

function typeOf(error: unknown, code: string | null): LLMErrorType {
  const { type, status } = fieldsOf(error);
  if (typeof type === "string" && Object.hasOwn(kinds, type)) return type as LLMErrorType;
  if (typeof status === "number" && status >= 400) return typeOfStatus(status);
  if (code !== null && Object.hasOwn(codes, code)) return codes[code] ?? "unknown_error";
  if (!isWorkflowError(error)) return "unknown_error";
  return error.kind === "failed" ? "internal_error" : "bad_request";
}

function codeOf(error: unknown): string | null {
  const { code, name } = fieldsOf(error);
  if (name === "AbortError") return "ABORTED";
  if (name === "TimeoutError") return "TIMEOUT";
  return typeof code === "string" && code !== "" ? code : null;
}

type Fields = Partial<
  Record<"type" | "status" | "code" | "name" | "retryable" | "stepID", unknown>
>;

/** The text of an error; nothing of one that can't be read. */
function fieldsOf(error: unknown): Fields {
  if (typeof error !== "object" || error === null) return {};
  try {
    const { type, status, code, name, retryable, stepID } = error as Fields;
    return { type, status, code, name, retryable, stepID };
  } catch {
    return {};
  }
}

const longest = 2000;

/** The text of whatever was thrown, on one line, at most 2,000 characters long. Never throws. */
export function messageOf(thrown: unknown): string {
  const line = textOf(thrown)
    .replace(/\s*[\r\n\u2028\u2029]+\s*/g, " ")
    .trim();
  return line.length > longest ? `${line.slice(0, longest)}…` : line || "no message";
}

function textOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return thrown.message || thrown.name;
    if (typeof thrown !== "object" || thrown === null) return String(thrown);
    const { message } = thrown as { message?: unknown };
    if (typeof message === "string") return message;
    return JSON.stringify(thrown) ?? "an object that says nothing was thrown";
  } catch {
    return "a value that can't be shown was thrown";
  }
}
