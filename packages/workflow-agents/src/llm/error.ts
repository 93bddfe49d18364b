import { WorkflowError } from "@uncaged/workflow";
import type { Usage } from "../call/usage.ts";

/** What kind of thing went wrong with a model call; the documented words. */
export type LLMErrorType =
  | "auth_error"
  | "bad_request"
  | "rate_limit"
  | "timeout"
  | "context_length_exceeded"
  | "content_policy_violation"
  | "service_unavailable"
  | "connection_error"
  | "json_parse_error"
  | "schema_validation_error"
  | "internal_error"
  | "unknown_error";

type Kind = { type: LLMErrorType; retryable: boolean; hint: string };

const kinds = {
  LLM_NO_KEY: auth("give the agent apiKey, or set the provider's key in the thread's environment"),
  LLM_AUTH: auth("check the key and the base URL: the provider does not accept them"),
  LLM_BILLING: auth("the provider's account can't pay for the call: check its credit"),
  LLM_BAD_REQUEST: once("bad_request", "the provider says what it does not accept: change it"),
  LLM_NO_MODEL: once("bad_request", "check the model's name and the base URL"),
  LLM_RATE_LIMIT: again("rate_limit", "wait, and retry the thread"),
  LLM_QUOTA: once("rate_limit", "the account's quota is used up: raise it, then retry the thread"),
  LLM_TIMEOUT: again("timeout", "retry the thread, or give the agent a longer timeoutMs"),
  LLM_SILENT: again("timeout", "retry the thread, or give the agent a longer silenceMs"),
  LLM_CONTEXT_FULL: once("context_length_exceeded", "shorten the prompt, or use a larger model"),
  LLM_REFUSED: once("content_policy_violation", "reword the prompt, or use another model"),
  LLM_OVERLOADED: again("service_unavailable", "wait, and retry the thread"),
  LLM_SERVER_ERROR: again("internal_error", "retry the thread; it is the provider's fault"),
  LLM_UNREACHABLE: again("connection_error", "check the base URL and the network, then retry"),
  LLM_CUT_OFF: again("connection_error", "retry the thread: the answer did not arrive whole"),
  LLM_BAD_STREAM: again("json_parse_error", "check that the base URL is that of a model's API"),
  LLM_BAD_OUTPUT: again("json_parse_error", "retry the thread, or ask for a simpler form"),
  LLM_EMPTY: again("unknown_error", "retry the thread, or say in the prompt what to answer"),
  LLM_TRUNCATED: once("bad_request", "raise maxTokens, or allow it with allowTruncated"),
  LLM_TOOL_TRUNCATED: once("bad_request", "raise maxTokens: the tool call was not run"),
  LLM_TOO_LARGE: once("bad_request", "raise maxAnswerLength, if the answer may be that large"),
  LLM_TOO_MANY_TURNS: once("bad_request", "raise maxTurns, or give the role a smaller task"),
  LLM_UNKNOWN: once("unknown_error", "see the provider's status, and report it if it stays"),
} satisfies Record<string, Kind>;

function auth(hint: string): Kind {
  return once("auth_error", hint);
}

function once(type: LLMErrorType, hint: string): Kind {
  return { type, retryable: false, hint };
}

function again(type: LLMErrorType, hint: string): Kind {
  return { type, retryable: true, hint };
}

/** The codes of a failed model call; each has its type, and whether a retry may help, in one table. */
export type LLMErrorCode = keyof typeof kinds;

/** Those that are found before a provider is asked. */
const beforeAsking: ReadonlySet<LLMErrorCode> = new Set([
  "LLM_NO_KEY",
  "LLM_AUTH",
  "LLM_BAD_REQUEST",
]);

type More = { status?: number; hint?: string; isFree?: boolean };

/** What a provider has counted of an answer so far, and of which model. */
export type Told = { model: string; usage: Usage };

/**
 * A model call that failed. `type` and `retryable` follow from `code`; `status` is the HTTP status, if
 * the provider answered with one, and `told` what it had counted of an answer that it began and did
 * not end. `isFree` when it cost nothing: the provider was not asked, or declined with a status. It has
 * no `cause`: what a client throws may quote a key.
 */
export class LLMError extends WorkflowError {
  readonly type: LLMErrorType;
  readonly retryable: boolean;
  readonly status: number | null;
  readonly isFree: boolean;
  told: Told | null = null;

  constructor(code: LLMErrorCode, message: string, more: More = {}) {
    const { type, retryable, hint } = kinds[code];
    super({ code, kind: "failed", message, hint: more.hint ?? hint });
    this.name = "LLMError";
    this.type = type;
    this.retryable = retryable;
    this.status = more.status ?? null;
    this.isFree = more.isFree ?? beforeAsking.has(code);
  }
}
