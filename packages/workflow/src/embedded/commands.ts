import { type Controlled, requestText, type StartRequest } from "../control/control.ts";
import type { Recovered, ThreadCommand, WakeOptions, WorkerState, Woken } from "../host/host.ts";
import type { LiveRow, ThreadRef } from "../record/thread.ts";
import type { Environment } from "../system/port.ts";

/** Starts and controls the threads of a store, for a host. */
export interface Commands {
  /** Creates a thread, unless a thread with its id exists. */
  start(hash: string, request: UnsentStart, from: Caller): Promise<void>;
  control(ref: ThreadRef, command: ThreadCommand): Promise<Controlled & { resumed?: string[] }>;
  /** Removes a thread. `force`: even a driven thread. @throws WorkflowError `THREAD_NOT_FOUND`, `THREAD_RUNNING` */
  remove(ref: ThreadRef, force: boolean): Promise<void>;
  live(): Promise<LiveRow[]>;
  wake(options: WakeOptions): Promise<Woken>;
  recover(): Promise<Recovered>;
  workers(): Promise<WorkerState[]>;
  close(): Promise<void>;
}

/** A start request without the environment, which the caller provides. */
export type UnsentStart = Omit<StartRequest, "env" | "secrets">;
/** The caller of a start: its folder, null if unknown, and its environment. */
export type Caller = { folder: string | null; env: Environment };

/** Checks a request, like a worker that receives it on its socket. */
export const parsed = <Request>(read: (body: string) => Request, request: unknown): Request =>
  read(requestText(request));
