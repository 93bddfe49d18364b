import { existsSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromErrorRecord, WorkflowError } from "../contract/error.ts";
import { toJson } from "../contract/json.ts";
import { controlTimeoutMs, type Failure } from "../control/control.ts";
import { diskError, systemCode } from "../storage/disk-error.ts";
import { type Root, runDir, socketName } from "../storage/paths.ts";

/** A request on the control socket of a hash. */
export type ControlRequest = {
  method: "GET" | "POST" | "DELETE";
  path: string;
  body?: unknown;
  timeoutMs?: number;
};

/**
 * What came of a request: its reply; nobody listens (the request had no effect, and may be sent to a
 * new worker); or the worker has the connection and does not answer in time.
 */
export type Reply<T> = { kind: "reply"; value: T } | { kind: "nobody" } | { kind: "silent" };

// sockaddr_un holds 104 bytes with the final zero on macOS, 108 on Linux: unix(4), unix(7).
const longestSocketPath = 103;
const nobody = new Set(["ENOENT", "ECONNREFUSED", "FailedToOpenSocket", "ConnectionRefused"]);

/**
 * Sends one request to the worker of a hash, if one listens.
 *
 * @throws WorkflowError what the worker answered, `WORKER_LOST` when it ended in between, or
 * `VALUE_NOT_JSON` (usage) for a body that a log could not hold.
 */
export async function ask<T>(root: Root, hash: string, request: ControlRequest): Promise<Reply<T>> {
  const socket = join(runDir(root), socketName(hash));
  if (!existsSync(socket)) return { kind: "nobody" };
  if (Buffer.byteLength(socket) <= longestSocketPath) return send(socket, hash, request);
  const folder = makeTemporary();
  try {
    symlinkSync(runDir(root), join(folder, "r"));
    return await send(join(folder, "r", socketName(hash)), hash, request);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function makeTemporary(): string {
  try {
    return mkdtempSync(join(tmpdir(), "uw-"));
  } catch {
    // TMPDIR may name a folder that is not there.
  }
  try {
    return mkdtempSync("/tmp/uw-");
  } catch (error) {
    throw diskError(error, "make a folder in", tmpdir());
  }
}

async function send<T>(unix: string, hash: string, request: ControlRequest): Promise<Reply<T>> {
  const { method, path, body, timeoutMs = controlTimeoutMs } = request;
  let response: Response;
  try {
    response = await fetch(`http://worker${path}`, {
      unix,
      method,
      signal: AbortSignal.timeout(timeoutMs),
      ...(body === undefined ? {} : { body: textOf(body) }),
    });
    const value = (await response.json()) as T | Failure;
    if (response.ok) return { kind: "reply", value: value as T };
    const { error } = value as Failure;
    if (error.code === "WORKER_CLOSING") return { kind: "nobody" };
    throw fromErrorRecord(error);
  } catch (error) {
    if (error instanceof WorkflowError) throw error;
    if (error instanceof Error && error.name === "TimeoutError") return { kind: "silent" };
    if (nobody.has(systemCode(error) ?? "")) return { kind: "nobody" };
    throw lost(hash, error);
  }
}

// A worker that had to read what is nested too deeply would end, and all its threads with it.
function textOf(body: unknown): string {
  const written = toJson(body, "request");
  if (written.ok) return written.json;
  throw new WorkflowError({
    code: "VALUE_NOT_JSON",
    kind: "usage",
    message: written.reason,
    hint: "give values that JSON can hold, less deeply nested",
  });
}

function lost(hash: string, cause: unknown): WorkflowError {
  return new WorkflowError(
    {
      code: "WORKER_LOST",
      kind: "failed",
      message: `the worker of ${hash} ended before it answered`,
      hint: "what was committed is kept; see how the thread stands: uncaged-workflow threads",
    },
    { cause },
  );
}
