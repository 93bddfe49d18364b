import { maxJsonDepth, roundedIn } from "@uncaged/workflow/internal";
import { isWorkflowError } from "@uncaged/workflow/host";
import type { MiddlewareHandler } from "hono";
import {
  badContentType,
  bodyCutOff,
  bodyTooDeep,
  bodyTooLarge,
  bodyTooSlow,
  roundedNumber,
} from "./errors.ts";

const mostJson = 1024 * 1024;
const mostUpload = 32 * 1024 * 1024;

const jsonType = "application/json";
const uploadType = "application/octet-stream";

/** Tells whether a request is for a run. Checkpoints may be large, and documented clients send no content type. */
export const isForRun = ({ url }: Request): boolean =>
  URL.parse(url)?.pathname.startsWith("/workflow/") === true;

/** Returns the content type of a body, in lower case and without parameters. */
const typeOf = ({ headers }: Request): string =>
  headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";

const isUntyped = (type: string): boolean => type === "" || type === "text/plain";

/** Refuses form bodies before reading them, because any page can send a form to any site. */
export function checkBodyType(request: Request): void {
  const { method, headers } = request;
  const length = Number(headers.get("content-length") ?? 0);
  const hasBody = length > 0 || headers.has("transfer-encoding");
  if (!hasBody || method === "GET" || method === "HEAD") return;
  const type = typeOf(request);
  if (type === jsonType || (isForRun(request) ? isUntyped(type) : type === uploadType)) return;
  throw badContentType(type, { json: jsonType, upload: uploadType });
}

/** Parses a body without a content type as JSON, because the documented clients of runs omit it. */
export const untypedAsJson: MiddlewareHandler = async ({ req }, next) => {
  if (isUntyped(typeOf(req.raw)) && req.raw.body !== null) {
    const headers = new Headers(req.raw.headers);
    headers.set("Content-Type", jsonType);
    req.raw = new Request(req.raw, { headers });
  }
  await next();
};

export function mostOf(request: Request): number {
  const bringsFiles = /^\/api\/(workflows|host)\/[^/]+$/.test(new URL(request.url).pathname);
  const isLarge = bringsFiles || isForRun(request) || typeOf(request) === uploadType;
  return isLarge ? mostUpload : mostJson;
}

/** The minimum speed of a request body, enforced after `graceMs` milliseconds. */
export type BodyPace = { graceMs: number; bytesPerMs: number };

/**
 * Reads a body before its route does. Refuses a body over the limit of its path (`BODY_TOO_LARGE`) and a body that
 * arrives too slowly (`BODY_TOO_SLOW`).
 */
export const limitBody =
  (pace: BodyPace): MiddlewareHandler =>
  async ({ req }, next) => {
    if (req.raw.body !== null) {
      const { url, method, headers, signal } = req.raw;
      const body = await bytesOf(req.raw, mostOf(req.raw), pace);
      if (typeOf(req.raw) !== uploadType) checkNumbers(body);
      req.raw = new Request(url, { method, headers, signal, body });
    }
    await next();
  };

/** Refuses numbers that JSON parsing would round. */
function checkNumbers(body: Uint8Array): void {
  const rounded = roundedIn(new TextDecoder().decode(body));
  if (rounded) throw roundedNumber(rounded.text);
}

async function bytesOf(
  request: Request,
  most: number,
  pace: BodyPace,
): Promise<Uint8Array<ArrayBuffer>> {
  const { body, headers } = request;
  if (Number(headers.get("content-length") ?? 0) > most) throw bodyTooLarge(most);
  const reader = body?.getReader();
  const chunks: Uint8Array[] = [];
  let received = 0;
  const startedAt = performance.now();
  try {
    for (;;) {
      const dueAt = startedAt + pace.graceMs + received / pace.bytesPerMs;
      const { value } = (await within(dueAt - performance.now(), reader?.read())) ?? {};
      if (!value) return Buffer.concat(chunks);
      chunks.push(value);
      received += value.length;
      if (received > most) throw bodyTooLarge(most);
    }
  } catch (error) {
    void reader?.cancel().catch(Boolean);
    // Any other error comes from the connection.
    throw isWorkflowError(error) ? error : bodyCutOff(error);
  }
}

async function within<T>(ms: number, work: T): Promise<Awaited<T>> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(bodyTooSlow()), Math.max(0, ms));
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Checks that a JSON body is not nested deeper than the limit of a log. */
export function checkDepth(body: unknown): void {
  if (isDeeper(body, maxJsonDepth)) throw bodyTooDeep(maxJsonDepth);
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((item) => isDeeper(item, levels - 1));
}
