import { type ErrorKind, toErrorRecord } from "../contract/error.ts";
import { jsonText } from "../contract/json.ts";
import {
  answerRequest,
  leaveRequest,
  removeRequest,
  resumeRequest,
  startRequest,
  wakeRequest,
} from "../control/requests.ts";
import { removeFile } from "../disk/files.ts";
import { checkThreadId } from "../contract/names.ts";
import type { SocketRequest, SocketResponse } from "../system/port.ts";
import { system } from "../system/system.ts";
import type { Threads } from "./threads.ts";
import { unknownRequest, workerClosing } from "./errors.ts";

const statusOf: Record<ErrorKind, number> = { usage: 400, missing: 404, failed: 409 };

/** The control socket of a worker. The worker holds the hash's lock, so an existing socket is stale. */
export class ControlServer {
  readonly #path: string;
  readonly #threads: Threads;
  readonly #onChange: () => void;
  #isClosing = false;

  /** The number of open requests. */
  pending = 0;
  /** Whether a request other than a read has arrived. */
  wasAsked = false;

  /** Calls `onChange` after each request. */
  constructor(path: string, threads: Threads, onChange: () => void) {
    this.#path = path;
    this.#threads = threads;
    this.#onChange = onChange;
    removeFile(path);
  }

  listen(): void {
    system.sockets.listen(this.#path, (request) => this.#answer(request));
  }

  /** Responds to a request. Never rejects. */
  async #answer(request: SocketRequest): Promise<SocketResponse> {
    if (this.#isClosing) return failure(workerClosing());
    if (request.method !== "GET") this.wasAsked = true;
    this.pending += 1;
    try {
      return reply((await answer(request, this.#threads)) ?? {}, 200);
    } catch (error) {
      return failure(error);
    } finally {
      this.pending -= 1;
      this.#onChange();
    }
  }

  /** Removes the socket and stops responding to requests: clients then start another worker. */
  close(): void {
    this.#isClosing = true;
    system.files.remove(this.#path);
  }
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
  if (method === "POST" && path === "/wake") return threads.wake(wakeRequest(body));
  const [, noun, id, verb, ...rest] = path.split("/");
  if (noun !== "threads" || rest.length > 0) throw unknownRequest(method, path);
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
    case "POST :id/recover":
      return threads.recover(threadId, resumeRequest(body));
    case "POST :id/input":
      return threads.answer(threadId, answerRequest(body));
    case "POST :id/kill":
      return threads.kill(threadId);
    case "POST :id/leave":
      return threads.leave(threadId, leaveRequest(body));
    case "DELETE :id":
      return threads.remove(threadId, removeRequest(body));
    default:
      throw unknownRequest(method, path);
  }
}
