import { LLMError, type LLMErrorCode } from "./error.ts";

/** What a provider's client threw, told without the client's own classes. */
export type Fault =
  | { kind: "http"; status: number; word: string; message: string }
  | { kind: "timeout" }
  | { kind: "connection"; reason: string }
  | { kind: "cut"; reason: string }
  | { kind: "json" }
  | { kind: "other"; message: string };

/** Who was asked: the names for the message, and the secrets that must not stand in it. */
export type Asked = {
  provider: string;
  model: string;
  baseUrl: string;
  secrets: readonly string[];
  timeoutMs: number;
};

const longestMessage = 300;

/** The documented error of a fault. Its message is one line and names no secret. */
export function llmError(fault: Fault, asked: Asked): LLMError {
  const { code, message } = judged(withoutSecrets(fault, asked.secrets), asked);
  const status = fault.kind === "http" && fault.status > 0 ? fault.status : undefined;
  return new LLMError(code, message, { status, isFree: isFree(fault) });
}

const unmade = /ECONNREFUSED|ConnectionRefused|ENOTFOUND|EAI_AGAIN|FailedToOpenSocket|EHOSTUNREACH/;
const overloaded = new Set([503, 529]);

// After a time-out at a gateway (504) the model may have answered all the same.
function isFree(fault: Fault): boolean {
  if (fault.kind === "connection") return unmade.test(fault.reason);
  if (fault.kind !== "http") return false;
  const { status } = fault;
  return (status >= 400 && status < 500 && status !== 408) || overloaded.has(status);
}

// Before anything is shortened: half a key would not be found.
function withoutSecrets<T extends Fault>(fault: T, secrets: readonly string[]): T {
  const entries = Object.entries(fault).map(([name, value]: [string, unknown]) => [
    name,
    typeof value === "string" && name !== "kind" ? masked(value, secrets) : value,
  ]);
  return Object.fromEntries(entries) as T;
}

type Judged = { code: LLMErrorCode; message: string };

function judged(fault: Fault, asked: Asked): Judged {
  const { provider, baseUrl, timeoutMs } = asked;
  const at = `${provider} at ${hostOf(baseUrl)}`;
  switch (fault.kind) {
    case "http":
      return judgedHttp(fault, asked);
    case "timeout":
      return { code: "LLM_TIMEOUT", message: `${at} did not begin to answer in ${timeoutMs} ms` };
    case "connection":
      return { code: "LLM_UNREACHABLE", message: `can't reach ${at}: ${fault.reason}` };
    case "cut":
      return {
        code: "LLM_CUT_OFF",
        message: `${at} broke off in the middle of its answer: ${fault.reason}`,
      };
    case "json":
      return { code: "LLM_BAD_STREAM", message: `${at} sent an answer that is no JSON` };
    case "other":
      return { code: "LLM_UNKNOWN", message: `the call of ${at} failed: ${short(fault.message)}` };
  }
}

function judgedHttp(fault: Fault & { kind: "http" }, { provider, model }: Asked): Judged {
  const code = codeOf(fault);
  const status = fault.status > 0 ? ` ${fault.status}` : "";
  const word = fault.word ? ` ${fault.word}` : "";
  const says = short(fault.message);
  return { code, message: `${provider} answered${status}${word} for model ${model}: ${says}` };
}

// The words are those of the providers' documented error objects; a status without one decides else.
const words: Record<string, LLMErrorCode> = {
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
  context_length_exceeded: "LLM_CONTEXT_FULL",
  content_filter: "LLM_REFUSED",
  content_policy_violation: "LLM_REFUSED",
};
const statuses: Record<number, LLMErrorCode> = {
  401: "LLM_AUTH",
  402: "LLM_BILLING",
  403: "LLM_AUTH",
  404: "LLM_NO_MODEL",
  408: "LLM_TIMEOUT",
  429: "LLM_RATE_LIMIT",
  503: "LLM_OVERLOADED",
  504: "LLM_TIMEOUT",
  529: "LLM_OVERLOADED",
};
const tooLong = /prompt is too long|maximum context length|context (length|window) (is )?exceeded/i;

function codeOf({ status, word, message }: Fault & { kind: "http" }): LLMErrorCode {
  const byWord = Object.hasOwn(words, word) ? words[word] : undefined;
  if (byWord) return byWord;
  if ((status === 400 || status === 413) && tooLong.test(message)) return "LLM_CONTEXT_FULL";
  const byStatus = statuses[status];
  if (byStatus) return byStatus;
  if (status >= 500) return "LLM_SERVER_ERROR";
  return status >= 400 ? "LLM_BAD_REQUEST" : "LLM_UNKNOWN";
}

/** A URL as a message may show it: no user, password or query. */
export function hostOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return "an address that is no URL";
  }
}

function short(text: string): string {
  const line = text.replace(/\s+/g, " ").trim() || "no message";
  return line.length > longestMessage ? `${line.slice(0, longestMessage)}…` : line;
}

/** A text without the secrets in it. */
export function masked(text: string, secrets: readonly string[]): string {
  return secrets.reduce(
    (clean, secret) => (secret ? clean.replaceAll(secret, "***") : clean),
    text,
  );
}
