import { rmSync } from "node:fs";
import { type ErrorKind, toErrorRecord, WorkflowError } from "../contract/error.ts";
import { jsonText } from "../contract/json.ts";
import type {
  AnswerRequest,
  RemoveRequest,
  ResumeRequest,
  StartRequest,
} from "../control/control.ts";
import { checkThreadId } from "../storage/paths.ts";
import type { Threads } from "./threads.ts";

export type ControlServer = {
  /** How many requests are being answered. */
  readonly pending: number;
  /** Takes the socket away and answers no more requests: their senders start another worker. */
  close(): void;
};

const statusOf: Record<ErrorKind, number> = { usage: 400, missing: 404, failed: 409 };
const largestBody = 512 * 1024 * 1024;

/**
 * Serves the control socket at a path, which is relative to the process's folder: a whole path may be
 * too long for a socket. The caller holds the hash's lock, so a socket that is there is a dead one.
 */
export function serveControl(
  path: string,
  wholePath: string,
  threads: Threads,
  onChange: () => void,
): ControlServer {
  let pending = 0;
  let closing = false;
  rmSync(path, { force: true });
  Bun.serve({
    unix: path,
    maxRequestBodySize: largestBody,
    async fetch(request) {
      if (closing)
        return failure(
          WorkflowError.failed("WORKER_CLOSING", "the worker is closing", "try again"),
        );
      pending += 1;
      try {
        return reply((await answer(request, threads)) ?? {}, 200);
      } catch (error) {
        return failure(error);
      } finally {
        pending -= 1;
        onChange();
      }
    },
  });
  return {
    get pending() {
      return pending;
    },
    close() {
      closing = true;
      rmSync(wholePath, { force: true });
    },
  };
}

function failure(error: unknown): Response {
  const record = toErrorRecord(error);
  return reply({ error: record }, statusOf[record.kind]);
}

const reply = (value: unknown, status: number): Response =>
  new Response(jsonText(value), { status });

async function answer(request: Request, threads: Threads): Promise<unknown> {
  const { pathname } = new URL(request.url);
  const [, noun, id, verb, ...rest] = pathname.split("/");
  if (noun !== "threads" || rest.length > 0) throw noSuchRequest(request.method, pathname);
  const route = `${request.method} ${id === undefined ? "" : ":id"}${verb ? `/${verb}` : ""}`;
  const threadId = id === undefined ? "" : checkThreadId(id);
  switch (route) {
    case "GET ":
      return { pid: process.pid, threads: threads.list() };
    case "POST ":
      return threads.start((await request.json()) as StartRequest);
    case "POST :id/pause":
      return threads.pause(threadId);
    case "POST :id/resume":
      return threads.resume(threadId, (await request.json()) as ResumeRequest);
    case "POST :id/input":
      return threads.answer(threadId, (await request.json()) as AnswerRequest);
    case "POST :id/kill":
      return threads.kill(threadId);
    case "DELETE :id":
      return threads.remove(threadId, (await request.json()) as RemoveRequest);
    default:
      throw noSuchRequest(request.method, pathname);
  }
}

function noSuchRequest(method: string, path: string): WorkflowError {
  const hint = "the worker may be of another version: wait until its threads have ended";
  return WorkflowError.usage("NO_SUCH_REQUEST", `this worker knows no ${method} ${path}`, hint);
}
