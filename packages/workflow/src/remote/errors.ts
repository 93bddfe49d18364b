import { type ErrorRecord, WorkflowError } from "../contract/error.ts";
import { show } from "../contract/show.ts";

/* The messages of these errors never contain the token. */

export const badServerUrl = (url: string, problem: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_HOST_URL",
    `${show(url)} ${problem}`,
    "write http://host:port or https://host, and give the token separately",
  );

export const badToken = (): WorkflowError =>
  WorkflowError.usage(
    "BAD_TOKEN",
    "the token must be printable ASCII without spaces",
    "copy the token again, as `uncaged-workflow serve --json` printed it",
  );

/** The server at a URL responded with status 401. */
export const refusedToken = (url: string, { code, message }: ErrorRecord): WorkflowError =>
  WorkflowError.failed(
    code,
    `${url}: ${message}`,
    "give the token of the server: the option `token`, or the variable UNCAGED_WORKFLOW_TOKEN",
  );

export const notAServer = (url: string, answer: string): WorkflowError =>
  WorkflowError.failed(
    "NOT_A_SERVER",
    `${url} is not a server of uncaged-workflow: ${answer}`,
    "check the address; start a server with: uncaged-workflow serve",
  );

export const redirected = (url: string, to: string | null): WorkflowError =>
  WorkflowError.failed(
    "REDIRECTED",
    `${url} redirects${to === null ? "" : ` to ${show(to)}`}, and the token is not sent there`,
    "use the final address of the server",
  );

export const otherProtocol = (url: string, found: unknown, own: number): WorkflowError =>
  WorkflowError.failed(
    "OTHER_PROTOCOL",
    `${url} has version ${String(found)} of the protocol, not ${own}`,
    "use the same version of uncaged-workflow for the client and the server",
  );

/** A page in a browser can't distinguish a server that is down from a server that refuses its origin. */
export const noServer = (url: string, problem: string): WorkflowError =>
  WorkflowError.failed(
    "NO_SERVER",
    `${url}: ${problem}`,
    `check the address and that the server runs${pageHint(url)}`,
  );

function pageHint(url: string): string {
  const { origin } = (globalThis as { location?: { origin: string } }).location ?? {};
  if (origin === undefined || origin === "null" || origin === URL.parse(url)?.origin) return "";
  return `; to allow this page: uncaged-workflow serve --allow-origin ${origin}`;
}

/** The response to a call was lost. */
export const outcomeUnknown = (url: string, method: string, problem: string): WorkflowError =>
  WorkflowError.failed(
    "OUTCOME_UNKNOWN",
    `${url}: ${problem}: it is unknown whether ${method} was done`,
    "look at the state before you repeat the call",
  );

export const notUploadable = (file: string): WorkflowError =>
  WorkflowError.usage(
    "NOT_A_BUNDLE",
    `${show(file)} is not a bundle (.esm.js)`,
    `build it first: uncaged-workflow build ${file}`,
  );

export const noFiles = (): WorkflowError =>
  WorkflowError.usage(
    "NO_FILES",
    "this runtime can't read files",
    "give the option `readFile` to openRemoteHost",
  );

export const fileUnreadable = (file: string, problem: string): WorkflowError =>
  WorkflowError.missing(
    "FILE_NOT_FOUND",
    `can't read ${show(file)}: ${problem}`,
    "check the path of the file",
  );

export const notUtf8 = (file: string): WorkflowError =>
  WorkflowError.usage("NOT_A_BUNDLE", `${show(file)} is not UTF-8 text`, "build it again");
