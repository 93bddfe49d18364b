import { maxJsonDepth, show, WorkflowError } from "@uncaged/workflow/host";

/** The most that a body may have, in bytes. */
const mostBody = { json: 1024 * 1024, upload: 32 * 1024 * 1024 };

const jsonType = "application/json";
const uploadType = "application/octet-stream";
// Under the paths of runs a body without a content type is JSON.
const noTypes: ReadonlySet<string> = new Set(["", "text/plain"]);

/** Whether a request is for a run: a checkpoint may be large, and the documented clients name no type. */
export const isForRun = ({ url }: Request): boolean =>
  URL.parse(url)?.pathname.startsWith("/workflow/") === true;

/**
 * Checks a body by its headers, before it is read: a form's content type is refused, for any page may
 * send a form anywhere, and so is a content length above the limit.
 *
 * @throws WorkflowError `BAD_CONTENT_TYPE` (usage), `BODY_TOO_LARGE`.
 */
export function checkBody(request: Request): void {
  const { method, headers } = request;
  const length = Number(headers.get("content-length") ?? 0);
  const hasBody = length > 0 || headers.has("transfer-encoding");
  if (!hasBody || method === "GET" || method === "HEAD") return;
  const type = headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
  const isTaken = isForRun(request) ? noTypes.has(type) : type === uploadType;
  if (type !== jsonType && !isTaken) throw badType(type);
  const most = mostOf(request);
  if (length > most) throw tooLarge(most);
}

/** Whether a request brings the files of a workflow. */
const isForWorkflow = ({ url }: Request): boolean =>
  /^\/api\/workflows\/[^/]+$/.test(new URL(url).pathname);

/** The most that a request's body may have. */
export const mostOf = (request: Request): number =>
  isForRun(request) ||
  isForWorkflow(request) ||
  request.headers.get("content-type")?.toLowerCase().startsWith(uploadType)
    ? mostBody.upload
    : mostBody.json;

/**
 * Checks that a body of JSON is not nested more deeply than what a log may hold.
 *
 * @throws WorkflowError `BODY_TOO_DEEP` (usage).
 */
export function checkDepth(body: unknown): void {
  if (!isDeeper(body, maxJsonDepth)) return;
  throw new WorkflowError({
    code: "BODY_TOO_DEEP",
    kind: "usage",
    message: `a body may have ${maxJsonDepth} levels`,
    hint: "nest its values less deeply",
  });
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  const items: unknown[] = Array.isArray(value) ? value : Object.values(value);
  return items.some((item) => isDeeper(item, levels - 1));
}

/** The error that a body has more than it may have. */
export function tooLarge(most: number): WorkflowError {
  return new WorkflowError({
    code: "BODY_TOO_LARGE",
    kind: "failed",
    message: `a body may have ${most / 1024 / 1024} MiB here`,
    hint: "send less; of a workflow send only what it imports",
  });
}

function badType(type: string): WorkflowError {
  return new WorkflowError({
    code: "BAD_CONTENT_TYPE",
    kind: "usage",
    message: `a body of the type ${type === "" ? "unknown" : show(type)} is not taken`,
    hint: `send Content-Type: ${jsonType}; for a workflow's file ${uploadType}`,
  });
}
