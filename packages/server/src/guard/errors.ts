import { WorkflowError } from "@uncaged/workflow/host";
import { show } from "@uncaged/workflow/internal";

/* The errors of requests before routing. */

const pathHint = "see /api/openapi.json for all paths";

export const noPath = (): WorkflowError =>
  WorkflowError.usage("BAD_URL", "a request must have a path", pathHint);

export const unknownPath = (method: string, path: string): WorkflowError =>
  WorkflowError.missing("NO_SUCH_PATH", `no such path: ${method} ${path.slice(0, 200)}`, pathHint);

/** A request from another page or for another host, as shown by `header`. */
export const foreignHeader = (code: string, header: string): WorkflowError =>
  WorkflowError.failed(
    code,
    `${header} header not allowed`,
    "use the URL that uncaged-workflow serve has printed; behind a proxy, start it with --public-url",
  );

/** A request without a valid token. */
export const unauthorized = (code: string, message: string): WorkflowError =>
  WorkflowError.failed(
    code,
    message,
    "open the URL that uncaged-workflow serve has printed; programs send Authorization: Bearer, with a token of the server's token file or the one from run/server.json in the storage root",
  );

export const tokenExpired = (name: string | null): WorkflowError =>
  WorkflowError.failed(
    "TOKEN_EXPIRED",
    `the token ${show(name ?? "")} has expired`,
    "ask the operator of the server for a new token",
  );

/** A request whose token has a lower role than its route needs. */
export const roleTooLow = (held: string, needed: string): WorkflowError =>
  WorkflowError.failed(
    "ROLE_TOO_LOW",
    `the request needs the role ${needed}, but the token has the role ${held}`,
    `use a token with the role ${needed}`,
  );

export const badTokenFile = (path: string, problem: string, hint?: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_TOKEN_FILE",
    `${path}: ${problem}`,
    hint ?? "give a file with one line per token: <name> <role> <token>",
  );

export const badTokenLine = (path: string, line: number, problem: string): WorkflowError =>
  WorkflowError.usage("BAD_TOKEN_FILE", `${path}:${line}: ${problem}`);

export const badPublicUrl = (url: string, problem: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_PUBLIC_URL",
    `--public-url can't be ${show(url.replace(/\/\/[^/@]*@/, "//***@"))}: ${problem}`,
    "give the URL that browsers use: --public-url https://flows.example.com",
  );

export const badAllowedHost = (name: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_ALLOWED_HOST",
    `--allow-host can't be ${show(name)}`,
    "give a name without scheme and path: --allow-host flows.internal",
  );

export const badOrigin = (origin: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_ORIGIN",
    `${show(origin)} is not an origin`,
    "give the scheme, the host and the port of a page: http://localhost:5173",
  );

export const badContentType = (
  type: string,
  accepted: { json: string; upload: string },
): WorkflowError =>
  WorkflowError.usage(
    "BAD_CONTENT_TYPE",
    `unsupported content type ${type === "" ? "(none)" : show(type)}`,
    `send Content-Type: ${accepted.json}; for a workflow's file ${accepted.upload}`,
  );

export const badJson = (): WorkflowError =>
  WorkflowError.usage(
    "BAD_JSON",
    "the body is not valid JSON",
    "send a JSON object with Content-Type: application/json",
  );

export const roundedNumber = (text: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_NUMBER",
    `the number ${show(text)} can't be kept exactly`,
    "send it as a string, in quotes",
  );

export const bodyTooLarge = (bytes: number): WorkflowError =>
  WorkflowError.failed(
    "BODY_TOO_LARGE",
    `the body exceeds ${bytes / 1024 / 1024} MiB`,
    "send less; of a workflow send only the files that it imports",
  );

export const bodyCutOff = (cause: unknown): WorkflowError =>
  WorkflowError.failed(
    "BODY_CUT_OFF",
    "the connection ended within the body",
    "send it again",
    cause,
  );

export const bodyTooSlow = (): WorkflowError =>
  WorkflowError.failed("BODY_TOO_SLOW", "the body arrived too slowly", "send it again, faster");

export const bodyTooDeep = (levels: number): WorkflowError =>
  WorkflowError.usage(
    "BODY_TOO_DEEP",
    `the body has more than ${levels} levels`,
    "nest its values less deeply",
  );

/** A request that does not match the schema of its path. */
export const badRequest = (message: string, details: string[] | null): WorkflowError =>
  new WorkflowError({
    code: "BAD_REQUEST",
    kind: "usage",
    message,
    hint: "see /api/openapi.json for the input of this path",
    ...(details && { details }),
  });
