import { maskOf } from "@uncaged/workflow/interpreter";
import { WorkflowError } from "@uncaged/workflow";
import { oneLine } from "../run/error.ts";
import type { CallTarget, PartialUsage } from "./provider.ts";

const once = <Type extends string>(type: Type, hint: string) => ({ type, retryable: false, hint });
const again = <Type extends string>(type: Type, hint: string) => ({ type, retryable: true, hint });
const auth = (hint: string) => once("auth_error", hint);

/** For each code: the type, whether a retry may help, and the hint. */
const kinds = {
  LLM_NO_KEY: auth("give the agent apiKey, or set the provider's key in the thread's environment"),
  LLM_AUTH: auth("check the key and the base URL, which the provider does not accept"),
  LLM_BILLING: auth("check the credit of the provider's account, which can't pay for the call"),
  LLM_BAD_REQUEST: once("bad_request", "change what the provider does not accept"),
  LLM_NO_MODEL: once("bad_request", "check the model's name and the base URL"),
  LLM_RATE_LIMIT: again("rate_limit", "wait, and retry the thread"),
  LLM_QUOTA: once(
    "rate_limit",
    "raise the account's quota, which is used up, then retry the thread",
  ),
  LLM_TIMEOUT: again("timeout", "retry the thread, or raise the agent's timeoutMs"),
  LLM_SILENT: again("timeout", "retry the thread, or raise the agent's silenceMs"),
  LLM_CONTEXT_FULL: once(
    "context_length_exceeded",
    "shorten the prompt or the agent's history, or use a larger model",
  ),
  LLM_REFUSED: once("content_policy_violation", "reword the prompt, or use another model"),
  LLM_OVERLOADED: again("service_unavailable", "wait, and retry the thread"),
  LLM_SERVER_ERROR: again("internal_error", "retry the thread; the provider has a problem"),
  LLM_UNREACHABLE: again("connection_error", "check the base URL and the network, then retry"),
  LLM_REDIRECTED: once(
    "connection_error",
    "set the agent's base URL to the address that the server redirects to",
  ),
  LLM_CUT_OFF: again("connection_error", "retry the thread: the answer is incomplete"),
  LLM_BAD_STREAM: again("json_parse_error", "check that the base URL belongs to a model's API"),
  LLM_BAD_ANSWER: once(
    "unknown_error",
    "check that the server supports the agent's protocol; a retry pays for another call",
  ),
  LLM_EMPTY: again("unknown_error", "retry the thread, or ask for an answer in the prompt"),
  LLM_TRUNCATED: once("bad_request", "raise maxTokens, or set allowTruncated"),
  LLM_TOOL_TRUNCATED: once("bad_request", "raise maxTokens: the tool call was not run"),
  LLM_TOO_LARGE: once("bad_request", "raise maxAnswerLength, if the answer may be that large"),
  LLM_TOO_MANY_TURNS: once("bad_request", "raise maxTurns, or give the role a smaller task"),
  LLM_UNKNOWN: once(
    "unknown_error",
    "check the provider's status page, and report the error if it persists",
  ),
};

/**
 * The code of a {@link ProviderError}, such as `LLM_RATE_LIMIT`, `LLM_AUTH` or `LLM_TIMEOUT`. docs/reference/agents.md
 * lists all codes.
 */
export type ProviderErrorCode = keyof typeof kinds;

/** The type of a {@link ProviderError}. */
export type ProviderErrorType = (typeof kinds)[ProviderErrorCode]["type"];

const beforeCall: ReadonlySet<ProviderErrorCode> = new Set([
  "LLM_NO_KEY",
  "LLM_AUTH",
  "LLM_BAD_REQUEST",
  "LLM_REDIRECTED",
]);

/**
 * Thrown for a failed model call. `type` and `retryable` follow from `code`. `status` is the HTTP status, and `partial`
 * the usage of an answer that broke off. `isFree` means that the call cost nothing, because the provider was not called
 * or declined the call. `cause` is never set, because the error of a model client may contain a key.
 */
export class ProviderError extends WorkflowError {
  readonly type: ProviderErrorType;
  readonly retryable: boolean;
  readonly status: number | null;
  readonly isFree: boolean;
  /** The delay that the provider requested before the next try, in milliseconds. */
  readonly retryAfterMs: number | null;
  partial: PartialUsage | null = null;

  constructor(
    code: ProviderErrorCode,
    message: string,
    more: {
      status?: number | undefined;
      hint?: string;
      isFree?: boolean;
      retryAfterMs?: number | null;
    } = {},
  ) {
    const { type, retryable, hint } = kinds[code];
    super({ code, kind: "failed", message, hint: more.hint ?? hint });
    this.name = "ProviderError";
    this.type = type;
    this.retryable = retryable;
    this.status = more.status ?? null;
    this.isFree = more.isFree ?? beforeCall.has(code);
    this.retryAfterMs = more.retryAfterMs ?? null;
  }
}

/** An error that a service reports. */
export type HttpFailure = {
  kind: "http";
  status: number;
  /** The status in an error within an answer, which may differ from the status of the response. */
  answered?: number;
  word: string;
  message: string;
  retryAfterMs?: number | null;
};

export type ClientError =
  | HttpFailure
  | { kind: "timeout" }
  | { kind: "connection"; reason: string }
  | { kind: "cut"; reason: string }
  | { kind: "json" }
  /** JSON without a readable answer. */
  | { kind: "unreadable"; problem: string }
  /** Events in an invalid order. */
  | { kind: "garbled" }
  | { kind: "other"; message: string };

/** Thrown for a stream in which the service reports a failure. */
export class StreamFailure extends Error {
  readonly failure: ClientError;

  constructor(given: ClientError) {
    super("the answer failed");
    this.failure = given;
  }
}

type ErrorClass = abstract new (...args: never) => Error;

/** The error classes of an official client. The classes of both providers have the same shape. */
export type ClientErrors = {
  APIConnectionTimeoutError: ErrorClass;
  APIConnectionError: ErrorClass;
};

export function clientErrorOf(thrown: unknown, classes: ClientErrors): ClientError | null {
  if (thrown instanceof classes.APIConnectionTimeoutError) return { kind: "timeout" };
  if (thrown instanceof classes.APIConnectionError) {
    return { kind: "connection", reason: reasonOf(thrown.cause ?? thrown) };
  }
  if (thrown instanceof SyntaxError) return { kind: "json" };
  // The client failed on a field of an unexpected type. Network errors have a cause or a code.
  const isOwn = thrown instanceof TypeError && thrown.cause === undefined && !("code" in thrown);
  return isOwn ? { kind: "garbled" } : null;
}

export type Target = CallTarget & { timeoutMs: number };

/** Converts a client's error to a `ProviderError`, whose message is one line without secrets. */
export function providerError(thrown: ClientError, target: Target): ProviderError {
  const status = thrown.kind === "http" && thrown.status > 0 ? thrown.status : undefined;
  const code = thrown.kind === "http" ? codeOf(thrown) : codes[thrown.kind];
  const retryAfterMs = thrown.kind === "http" ? (thrown.retryAfterMs ?? null) : null;
  const more = { status, isFree: isFree(thrown, code), retryAfterMs };
  return new ProviderError(code, messageOf(thrown, target), more);
}

const codes = {
  timeout: "LLM_TIMEOUT",
  connection: "LLM_UNREACHABLE",
  cut: "LLM_CUT_OFF",
  json: "LLM_BAD_STREAM",
  unreadable: "LLM_BAD_ANSWER",
  garbled: "LLM_BAD_STREAM",
  other: "LLM_UNKNOWN",
} as const;

const notConnected =
  /ECONNREFUSED|ConnectionRefused|ENOTFOUND|EAI_AGAIN|FailedToOpenSocket|EHOSTUNREACH/;

// After a gateway's timeout (504), the model may still have answered.
function isFree(thrown: ClientError, code: ProviderErrorCode): boolean {
  if (thrown.kind === "connection") return notConnected.test(thrown.reason);
  if (thrown.kind !== "http") return false;
  const { status } = thrown;
  if (status >= 500 && code === "LLM_BAD_REQUEST") return true;
  return (status >= 400 && status < 500 && status !== 408) || status === 503 || status === 529;
}

function messageOf(thrown: ClientError, target: Target): string {
  const { provider, model, baseUrl, secrets, timeoutMs } = target;
  // Masks secrets before the message is shortened, because a part of a key would not be recognized.
  const mask = maskOf(Object.fromEntries(secrets.map((secret, at) => [`KEY_${at}`, secret])));
  const at = `${provider} at ${hostOf(baseUrl)}`;
  switch (thrown.kind) {
    case "http": {
      const { word, message } = thrown;
      const status = thrown.status || thrown.answered || "";
      const answered = [provider, "answered", status, mask(word)].filter(Boolean).join(" ");
      return `${answered} for model ${model}: ${short(mask(message))}`;
    }
    case "timeout":
      return `${at} did not begin to answer in ${timeoutMs} ms`;
    case "connection":
      return `can't reach ${at}: ${mask(thrown.reason)}`;
    case "cut":
      return `${at} broke off in the middle of its answer: ${mask(thrown.reason)}`;
    case "json":
      return `${at} sent an answer that is not JSON`;
    case "unreadable":
      return `${at} sent an answer that can't be read: ${short(mask(thrown.problem))}`;
    case "garbled":
      return `${at} sent events that do not follow its protocol`;
    case "other":
      return `the call of ${at} failed: ${short(mask(thrown.message))}`;
  }
}

// The types in the providers' documented error objects. For other types, the status decides.
const words: Record<string, ProviderErrorCode> = {
  authentication_error: "LLM_AUTH",
  permission_error: "LLM_AUTH",
  invalid_api_key: "LLM_AUTH",
  billing_error: "LLM_BILLING",
  not_found_error: "LLM_NO_MODEL",
  model_not_found: "LLM_NO_MODEL",
  rate_limit_error: "LLM_RATE_LIMIT",
  rate_limit_exceeded: "LLM_RATE_LIMIT",
  insufficient_quota: "LLM_QUOTA",
  timeout_error: "LLM_TIMEOUT",
  overloaded_error: "LLM_OVERLOADED",
  api_error: "LLM_SERVER_ERROR",
  server_error: "LLM_SERVER_ERROR",
  error: "LLM_SERVER_ERROR",
  abort: "LLM_SERVER_ERROR",
  network_error: "LLM_SERVER_ERROR",
  malformed_function_call: "LLM_SERVER_ERROR",
  insufficient_system_resource: "LLM_OVERLOADED",
  context_length_exceeded: "LLM_CONTEXT_FULL",
  exceed_context_size_error: "LLM_CONTEXT_FULL",
  request_too_large: "LLM_CONTEXT_FULL",
  content_filter: "LLM_REFUSED",
  content_policy_violation: "LLM_REFUSED",
  data_inspection_failed: "LLM_REFUSED",
};
const statuses: Record<number, ProviderErrorCode> = {
  401: "LLM_AUTH",
  402: "LLM_BILLING",
  403: "LLM_AUTH",
  404: "LLM_NO_MODEL",
  408: "LLM_TIMEOUT",
  413: "LLM_CONTEXT_FULL",
  429: "LLM_RATE_LIMIT",
  503: "LLM_OVERLOADED",
  504: "LLM_TIMEOUT",
  529: "LLM_OVERLOADED",
};
// Matches messages about an account that cannot pay, which Anthropic reports as an invalid request.
const unpaid =
  /credit balance is too low|billing|payment required|insufficient (balance|credit|funds)/i;
const tooLong = new RegExp(
  [
    /(prompt|input) is too long|longer than the maximum model length|overflows|too many tokens/,
    /maximum (context|prompt) length|context (length|window|size) (is )?exceeded/,
    /exceeds? (the|your|this model's)? ?(available )?context|exceeds the maximum number of tokens/,
    /`inputs` tokens \+ `max_new_tokens` must be/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "i",
);
// Matches messages about a request that exceeds the limit of tokens per minute, so that waiting does not help.
const tooLarge = /request too large|tokens must be reduced/i;
const usedUp = /exceeded your current quota|quota exceeded/i;
const badKey = /api.?key (is )?(not valid|invalid)|(invalid|incorrect) api.?key/i;
const unsafe =
  /content (exists risk|management policy)|inappropriate content|requires moderation|input (was|has been) flagged/i;
// Matches messages about a schema that a server cannot enforce, which some servers report as a server error.
const badForm = /grammar|response_format|json.?schema|structured.?output/i;
/** Matches a 404 that concerns neither the model nor the address. */
const badPart = /^item with id|no endpoints found that (can handle|support)/i;

const tooMany = /rate.?limit|too many requests/i;
const tooBusy = /overloaded|(no|at|over) capacity|temporarily unavailable|try again later/i;

function codeOf(thrown: HttpFailure): ProviderErrorCode {
  const { word, message, retryAfterMs = null } = thrown;
  const status = thrown.status || (thrown.answered ?? 0);
  const isOurs = status >= 400 && status < 500;
  if (tooLarge.test(message)) return "LLM_CONTEXT_FULL";
  if (status >= 500 && badForm.test(message)) return "LLM_BAD_REQUEST";
  const byWord = Object.hasOwn(words, word) ? words[word] : undefined;
  // Some servers report every failure as an API error.
  if (byWord && !(isOurs && byWord === "LLM_SERVER_ERROR")) return byWord;
  const said = `${word} ${message}`;
  if (status === 429 && usedUp.test(said)) {
    return retryAfterMs === null ? "LLM_QUOTA" : "LLM_RATE_LIMIT";
  }
  if (status < 500 && unpaid.test(said)) return "LLM_BILLING";
  if (isOurs && badKey.test(message)) return "LLM_AUTH";
  if ((isOurs || status === 0) && unsafe.test(message)) return "LLM_REFUSED";
  if ([0, 400, 413, 422].includes(status) && tooLong.test(message)) return "LLM_CONTEXT_FULL";
  if (status === 0 && tooMany.test(said)) return "LLM_RATE_LIMIT";
  if (status === 0 && tooBusy.test(said)) return "LLM_OVERLOADED";
  if (status === 404 && badPart.test(message)) return "LLM_BAD_REQUEST";
  const other =
    status >= 400 || word === "invalid_request_error" ? "LLM_BAD_REQUEST" : "LLM_UNKNOWN";
  return statuses[status] ?? (status >= 500 ? "LLM_SERVER_ERROR" : other);
}

/** Returns the host of a URL for error messages, without the user, the password, the path and the query. */
export const hostOf = (url: string): string =>
  URL.canParse(url) ? new URL(url).host : "an invalid URL";

const short = (text: string): string => oneLine(text, 300) || "no message";

/** Returns the reason for a failed connection: an error code or a message. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ("code" in error && typeof error.code === "string") return error.code;
  return error.cause === undefined ? error.message : reasonOf(error.cause);
}
