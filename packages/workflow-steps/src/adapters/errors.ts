import type { WorkflowError } from "@uncaged/workflow";
import type { RedirectError } from "@uncaged/workflow-agents/interpreter";
import { LLMError, messageOf } from "../adapter/error.ts";
import { failure } from "../document/document.ts";

/* The errors of the default adapters. `id` is the id of an API or a Download step. */

export const apiTimeout = (id: string, ms: number): LLMError =>
  new LLMError("timeout", `${id} did not answer within ${ms} ms`);

const unsendable = (id: string, problem: string): LLMError =>
  new LLMError("bad_request", `${id}: ${problem}`, { code: "BAD_PARAMS" });

export const badHeaderName = (id: string, name: string): LLMError =>
  unsendable(id, `${JSON.stringify(name)} is not the name of a header`);

/** Does not quote the value, which may be a secret. */
export const badHeaderValue = (id: string, name: string): LLMError =>
  unsendable(id, `header ${name} has a line break, or a character beyond Latin-1`);

export const badMethod = (id: string, method: string): LLMError =>
  unsendable(id, `${JSON.stringify(method)} is not an HTTP method`);

export const unexpectedBody = (id: string, method: string): LLMError =>
  unsendable(id, `a ${method} request can't have a body`);

/** Does not quote the URL, which may contain a secret. */
export const badURL = (id: string): LLMError =>
  new LLMError("bad_request", `${id}: the url is not an HTTP URL`, { code: "BAD_URL" });

export const answerTooLarge = (id: string, most: number): LLMError =>
  new LLMError("bad_request", `${id} answered with more than ${most} bytes`, {
    code: "ANSWER_TOO_LARGE",
  });

export const answerNotJSON = (id: string, type: string): LLMError =>
  new LLMError("json_parse_error", `${id} answered with ${type} that is not valid JSON`);

export const redirected = (id: string, { code, hint, message }: RedirectError): LLMError =>
  new LLMError("bad_request", `${id}: ${message}`, { code, hint });

/** `code` is an error code of the system, such as `ECONNREFUSED`. */
export const unreachable = (
  id: string,
  host: string,
  { code, cause }: { code?: string; cause: unknown },
): LLMError =>
  new LLMError("connection_error", `${id} can't reach ${host}: ${code ?? messageOf(cause)}`, {
    code,
  });

export const noDocument = (name: string): LLMError =>
  new LLMError("bad_request", `no document ${name} found: missing file docs/${name}.md`, {
    code: "DOC_MISSING",
  });

export const pathOutside = (path: string): WorkflowError =>
  failure(
    "PATH_OUTSIDE",
    `${JSON.stringify(path).slice(0, 300)} is not a file path inside the run's directory`,
    "give a path inside the run's directory, relative to it",
  );

export const brokenZip = (cause: unknown): WorkflowError =>
  failure(
    "ZIP_BROKEN",
    `the archive can't be read: ${messageOf(cause)}`,
    "check that it is a complete zip archive without a password",
  );

/** `size` is a phrase such as "more than 10 files". */
export const zipTooLarge = (size: string): WorkflowError =>
  failure(
    "ZIP_TOO_LARGE",
    `the archive has ${size}`,
    "check the archive; if you trust it, unpack it with another tool",
  );

export const toolTimeout = (name: string, ms: number | null): WorkflowError =>
  failure(
    "TOOL_TIMEOUT",
    `the tool ${name} was stopped after ${ms} ms`,
    "increase its timeout, or request less at once",
  );

const unknownProvider = (problem: string, providers: readonly string[]): LLMError =>
  new LLMError(
    "bad_request",
    `${problem}; providers: ${providers.length > 0 ? providers.join(", ") : "none"}`,
    { code: "PROVIDER_UNKNOWN" },
  );

export const noProvider = (name: string, providers: readonly string[]): LLMError =>
  unknownProvider(`no provider ${name} found`, providers);

export const noProviderFor = (model: string, providers: readonly string[]): LLMError =>
  unknownProvider(`no provider for the model ${model} found`, providers);

/** `problem` is the fault in a step's list of tools. */
export const badTools = (problem: string): LLMError =>
  new LLMError("bad_request", problem, { code: "BAD_TOOLS" });

export const mixedTools = (): LLMError =>
  badTools("all tools or no tools must have an input_schema");

export const noTools = (name: string): LLMError =>
  badTools(`no tool ${name} found: the run was started without tools`);

export const noWorkingDirectory = (): WorkflowError =>
  failure(
    "NO_CWD",
    "missing working directory for the model's tools",
    "give cwd in the options of the run",
  );
