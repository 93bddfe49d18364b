import type { WorkflowError } from "@uncaged/workflow";
import type { RedirectError } from "../http/http.ts";
import { failure, misuse } from "../run/error.ts";
import { ProviderError } from "./error.ts";

/*
 * The errors of model agents and of their turns. `name` is the name of the provider. `error.ts` has the errors of
 * services.
 */

export const historyAndMessages = (): WorkflowError =>
  misuse("BAD_HISTORY", "an agent has both history and messages", "use one of them");

export const invalidHistory = (given: unknown): WorkflowError =>
  misuse(
    "BAD_HISTORY",
    `an agent's history can't be ${JSON.stringify(given)}`,
    'use "all", "last", or a function of the steps',
  );

export const invalidContext = (option: "window" | "compactAt", given: unknown): WorkflowError =>
  misuse(
    "BAD_CONTEXT",
    `an agent's context: ${option} can't be ${String(given)}`,
    "set window to a number of tokens, and compactAt to a share of the window, such as 0.8",
  );

export const noKey = (name: string, variable: string): ProviderError =>
  new ProviderError("LLM_NO_KEY", `no key for ${name} found`, {
    hint: `set ${variable} in the environment that starts the thread, or set the agent's apiKey`,
  });

export const addressNotUrl = (name: string): ProviderError =>
  new ProviderError("LLM_BAD_REQUEST", `${name}: the address is not a URL`, {
    hint: "fix the agent's baseUrl, or the base URL in the thread's environment: http(s)://…",
  });

export const keyMalformed = (name: string): ProviderError =>
  new ProviderError("LLM_AUTH", `the key for ${name} contains an invalid character`, {
    hint: "set the key again, without line breaks, spaces and characters that are not ASCII",
  });

/** Returns the error for an invalid line in an environment variable with additional headers. */
export const notHeader = (variable: string): ProviderError =>
  new ProviderError("LLM_BAD_REQUEST", `${variable} has a line that is not a header`, {
    hint: `write one line for each header, such as X-Gateway: blue, or unset ${variable}`,
  });

/** Returns the error for a wait beyond the role's deadline. `reason` is the cause of the wait. */
export const waitTooLong = (reason: string, ms: number): ProviderError =>
  new ProviderError(
    "LLM_RATE_LIMIT",
    `${reason}: the call would wait for ${ms} ms, beyond the role's deadline`,
    { isFree: true, retryAfterMs: ms },
  );

export const tooManyTurns = (maxTurns: number): ProviderError =>
  new ProviderError("LLM_TOO_MANY_TURNS", `the model did not finish within ${maxTurns} turns`);

/** Returns the error for recorded turns that the provider refuses. */
export const turnsRefused = (
  code: "LLM_BAD_REQUEST" | "LLM_REFUSED",
  { message, status, isFree }: ProviderError,
  threadId: string,
): ProviderError =>
  new ProviderError(code, message, {
    ...{ status: status ?? undefined, isFree },
    hint: `repeat the step without the turns that a retry sends again: uncaged-workflow fork ${threadId} --anew`,
  });

export const emptyAnswer = (name: string): ProviderError =>
  new ProviderError("LLM_EMPTY", `${name} returned an answer without text`);

/** Returns the error for an answer whose text is not a string. `kind` describes the value. */
export const textNotString = (name: string, kind: string): ProviderError =>
  new ProviderError("LLM_BAD_ANSWER", `${name}: the text of the answer is ${kind}, not text`);

export const answerRefused = (name: string, detail: string | undefined): ProviderError =>
  new ProviderError("LLM_REFUSED", `${name} refused to answer${detail ? `: ${detail}` : ""}`);

export const callTruncated = (name: string, tool: string): ProviderError =>
  new ProviderError(
    "LLM_TOOL_TRUNCATED",
    `${name} cut the call of tool ${tool} off at the token limit`,
  );

export const answerTruncated = (name: string): ProviderError =>
  new ProviderError("LLM_TRUNCATED", `${name} cut the answer off at the token limit`);

export const unknownEnd = (name: string, finishReason: string | null): ProviderError =>
  new ProviderError("LLM_UNKNOWN", `${name} ended its answer with ${finishReason}`);

export const contextFull = (): ProviderError =>
  new ProviderError("LLM_CONTEXT_FULL", "the model's context was full before its answer");

/** Returns the error for an answer that the thread's limit cut off after a number of tokens. */
export const cutByLimit = (name: string, tokens: number): WorkflowError =>
  failure(
    "BUDGET_EXCEEDED",
    `${name} cut the answer off after ${tokens} tokens: the thread's limit allowed no more`,
    "continue with a higher limit: uncaged-workflow retry <thread> --max-cost N, or --max-tokens N",
  );

export const approvalImpossible = (tool: string): WorkflowError =>
  failure(
    "NO_APPROVAL",
    `the call of ${tool} needs an approval, but this run can't ask for one`,
    "use the tool in a role of createRoleModerator or durable, or without an approval",
  );

/** Returns the error for an answer that is too large. `most` is a number with its unit. */
export const answerTooLarge = (name: string, most: string): ProviderError =>
  new ProviderError("LLM_TOO_LARGE", `${name} sent an answer of more than ${most}`);

export const callRedirected = (name: string, { message, hint }: RedirectError): ProviderError =>
  new ProviderError("LLM_REDIRECTED", `${name}: ${message}`, { hint });

export const serverSilent = (name: string, host: string, ms: number): ProviderError =>
  new ProviderError("LLM_SILENT", `${name} at ${host} sent nothing for ${ms} ms`);
