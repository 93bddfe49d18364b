import { isWorkflowError, WorkflowError } from "@uncaged/workflow";

/** Hints by the documented type of a failed call. */
const hints = {
  auth_error: "check the key and the address",
  bad_request: "correct the request as the error says",
  rate_limit: "wait, and run the step again",
  timeout: "run the step again, or increase its timeout",
  context_length_exceeded: "shorten the prompt, or use a larger model",
  content_policy_violation: "reword the prompt, or use another model",
  service_unavailable: "wait, and run the step again",
  connection_error: "check the address and the network, and run the step again",
  json_parse_error: "run the step again, or simplify the form of the answer",
  schema_validation_error: "describe the schema in the prompt, or loosen the schema",
  internal_error: "check the state of the service, and report the error if it persists",
  unknown_error: "read the error message",
};

export type LLMErrorType = keyof typeof hints;

const retryableTypes: ReadonlySet<LLMErrorType> = new Set([
  "rate_limit",
  "timeout",
  "service_unavailable",
  "connection_error",
  "json_parse_error",
]);

/**
 * A failed call. `code` defaults to the type in capitals, and `retryable` to the default of the type. `status` is an
 * HTTP status.
 */
export class LLMError extends WorkflowError {
  readonly type: LLMErrorType;
  readonly retryable: boolean;
  readonly status: number | null;

  constructor(
    type: LLMErrorType,
    message: string,
    more: {
      code?: string;
      hint?: string;
      retryable?: boolean;
      status?: number;
      cause?: unknown;
    } = {},
  ) {
    const code = more.code ?? type.toUpperCase();
    super({ code, message, hint: more.hint ?? hints[type] }, { cause: more.cause });
    this.name = "LLMError";
    this.type = type;
    this.retryable = more.retryable ?? retryableTypes.has(type);
    this.status = more.status ?? null;
  }
}

/** `_error` in a workflow: the failure of a step. `code` is null if the error does not have a code. */
export type ErrorMap = {
  type: LLMErrorType;
  message: string;
  code: string | null;
  retryable: boolean;
  stepID: string | null;
};

/**
 * Returns the `_error` of a thrown value. Its type comes from the error itself, otherwise from its HTTP status or code;
 * the default is `unknown_error`. Never throws.
 */
export function buildErrorMap(error: unknown, stepID?: string): ErrorMap {
  const fields = fieldsOf(error);
  const code = codeOf(fields);
  const type = typeOf(error, fields, code);
  const { retryable, stepID: own } = fields;
  return {
    type,
    message: messageOf(error),
    code,
    retryable: typeof retryable === "boolean" ? retryable : retryableTypes.has(type),
    stepID: stepID ?? (typeof own === "string" ? own : null),
  };
}

export function typeOfStatus(status: number): LLMErrorType {
  if (Object.hasOwn(types, status)) return types[status] ?? "unknown_error";
  if (status >= 500) return "internal_error";
  return status >= 400 ? "bad_request" : "unknown_error";
}

// HTTP statuses, and codes of errors of Node, Bun and this project other than LLMError.
const types: Readonly<Record<string, LLMErrorType>> = {
  401: "auth_error",
  403: "auth_error",
  407: "auth_error",
  408: "timeout",
  429: "rate_limit",
  502: "service_unavailable",
  503: "service_unavailable",
  504: "timeout",
  529: "service_unavailable",
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

function typeOf(error: unknown, { type, status }: Fields, code: string | null): LLMErrorType {
  if (typeof type === "string" && Object.hasOwn(hints, type)) return type as LLMErrorType;
  if (typeof status === "number" && status >= 400) return typeOfStatus(status);
  if (code !== null && Object.hasOwn(types, code)) return types[code] ?? "unknown_error";
  if (!isWorkflowError(error)) return "unknown_error";
  return error.kind === "failed" ? "internal_error" : "bad_request";
}

function codeOf({ code, name }: Fields): string | null {
  if (name === "AbortError") return "ABORTED";
  if (name === "TimeoutError") return "TIMEOUT";
  return typeof code === "string" && code !== "" ? code : null;
}

type Fields = Partial<
  Record<"type" | "status" | "code" | "name" | "retryable" | "stepID", unknown>
>;

/** Returns the readable fields of an error. */
function fieldsOf(error: unknown): Fields {
  if (typeof error !== "object" || error === null) return {};
  try {
    const { type, status, code, name, retryable, stepID } = error as Fields;
    return { type, status, code, name, retryable, stepID };
  } catch {
    return {};
  }
}

/** Handles an error in a `catch`: returns null for a missing file, and rethrows any other error. */
export function nullIfMissing(error: unknown): null {
  if (isWorkflowError(error) && error.code === "FILE_MISSING") return null;
  throw error;
}

const longest = 2000;

/** Returns the message of a thrown value on one line of at most 2,000 characters. Never throws. */
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
    return JSON.stringify(thrown) ?? "a value without a message was thrown";
  } catch {
    return "a value that can't be shown was thrown";
  }
}
