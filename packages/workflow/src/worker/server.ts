import { type ErrorKind, toErrorRecord, WorkflowError } from "../contract/error.ts";
import { jsonText } from "../contract/json.ts";
import { answerRequest, removeRequest, resumeRequest, startRequest } from "../control/requests.ts";
import { removeFile } from "../storage/files.ts";
import { checkThreadId } from "../storage/paths.ts";
import type { SocketRequest, SocketResponse } from "../system/port.ts";
import { system } from "../system/system.ts";
import { withOwnBuiltIns } from "./built-ins.ts";
import { workerClosing } from "./refusal.ts";
import type { Threads } from "./threads.ts";

export type ControlServer = {
  /** How many requests are being answered. */
  readonly pending: number;
  /** Takes the socket away and answers no more requests: their senders start another worker. */
  close(): void;
};

const statusOf: Record<ErrorKind, number> = { usage: 400, missing: 404, failed: 409 };

/** Serves the control socket. The caller holds the hash's lock, so a socket that is there is a dead one. */
export function serveControl(path: string, threads: Threads, onChange: () => void): ControlServer {
  let pending = 0;
  let closing = false;
  removeFile(path);
  system.sockets.listen(path, async (request) => {
    if (closing) return failure(workerClosing());
    pending += 1;
    try {
      return reply((await withOwnBuiltIns(() => answer(request, threads))) ?? {}, 200);
    } catch (error) {
      return failure(error);
    } finally {
      pending -= 1;
      onChange();
    }
  });
  return {
    get pending() {
      return pending;
    },
    close() {
      closing = true;
      system.files.remove(path);
    },
  };
}

function failure(error: unknown): SocketResponse {
  const record = toErrorRecord(error);
  return reply({ error: record }, statusOf[record.kind]);
}

const reply = (value: unknown, status: number): SocketResponse => ({
  status,
  body: jsonText(value),
});

async function answer({ method, path, body = "" }: SocketRequest, threads: Threads) {
  const [, noun, id, verb, ...rest] = path.split("/");
  if (noun !== "threads" || rest.length > 0) throw noSuchRequest(method, path);
  const route = `${method} ${id === undefined ? "" : ":id"}${verb ? `/${verb}` : ""}`;
  const threadId = id === undefined ? "" : checkThreadId(id);
  switch (route) {
    case "GET ":
      return { pid: system.processes.pid, threads: threads.list() };
    case "POST ":
      return threads.start(startRequest(body));
    case "POST :id/pause":
      return threads.pause(threadId);
    case "POST :id/resume":
      return threads.resume(threadId, resumeRequest(body));
    case "POST :id/input":
      return threads.answer(threadId, answerRequest(body));
    case "POST :id/kill":
      return threads.kill(threadId);
    case "DELETE :id":
      return threads.remove(threadId, removeRequest(body));
    default:
      throw noSuchRequest(method, path);
  }
}

function noSuchRequest(method: string, path: string): WorkflowError {
  const hint = "the worker may be of another version: wait until its threads have ended";
  return WorkflowError.usage("NO_SUCH_REQUEST", `this worker knows no ${method} ${path}`, hint);
}
