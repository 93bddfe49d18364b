import type { Durability, InputRequest } from "../control/control.ts";
import type {
  CollectOptions,
  ForkOptions,
  LogOptions,
  ObserveOptions,
  RecoverOptions,
  RegisterOptions,
  StartOptions,
  ThreadFilter,
  ThreadQuery,
  WakeOptions,
} from "../host/host.ts";
import type { ThreadRef } from "../record/thread.ts";

/*
 * The protocol between a remote host and a server. `GET /api/host` returns the greeting. `POST /api/host/<method>` sends
 * a `RemoteRequest` and gets a `RemoteReply`, `{error}` with a 4xx or 5xx status, or server-sent events.
 */

/** The version of the protocol. A server refuses requests of other versions. */
export const protocolVersion = 1;

/** The response of `GET /api/host`. */
export type RemoteGreeting = {
  name: "uncaged-workflow";
  protocol: number;
  /** The version of the server's package. */
  version: string;
  /** Differs after each start of the server. */
  instance: string;
  root: string;
  maxRecordBytes: number;
  /** Maximum silence of a stream, in milliseconds. */
  heartbeatMs: number;
};

/**
 * The body of a request. A call that changes something has a `key`: the server applies it once for all requests with
 * the same key. `instance` is set when a call of an earlier instance is repeated and must not be applied twice.
 */
export type RemoteRequest = {
  protocol: number;
  arguments: object;
  key?: string;
  instance?: string;
  /** Ends a stream after this time, in milliseconds, for proxies that hold responses back until their end. */
  forMs?: number;
};

/** The body of a response to a call. */
export type RemoteReply = { result: unknown; instance: string };

/**
 * The events of a stream: its items, each with its cursor as the id, then `done` with the result or `failed` with the
 * error. A stream that ends without either was cut.
 */
export type RemoteEvent = "item" | "done" | "failed";

/** A ready bundle with the files beside it, by their names. */
type UploadedBundle = { file: string; files: Record<string, string>; types?: string | undefined };

/** The arguments of each method. The server sets the environment and the folder of threads. */
export type RemoteArguments = {
  register: UploadedBundle & { name: string } & Pick<RegisterOptions, "dev" | "expected">;
  store: UploadedBundle;
  resolve: { workflow: string };
  workflows: Record<string, never>;
  workflow: { name: string };
  history: { name: string };
  rollback: { name: string; version?: string | undefined };
  unregister: { name: string };
  version: { workflow: string };
  source: { workflow: string; file?: string | undefined };
  changedRoles: { versions: readonly [string, string]; roles: readonly string[] };
  descriptor: { hash: string };

  start: Omit<StartOptions, "env" | "cwd">;
  find: { text: string };
  threads: { query?: ThreadQuery | undefined };
  summary: { query?: ThreadFilter | undefined };
  live: Record<string, never>;
  row: { ref: ThreadRef };
  read: { ref: ThreadRef };
  family: { ref: ThreadRef };
  attempts: { ref: ThreadRef };
  value: { ref: ThreadRef; at: number };
  pause: { ref: ThreadRef };
  resume: { ref: ThreadRef; durability?: Durability | undefined };
  answer: {
    ref: ThreadRef;
    input: InputRequest;
    question?: number | undefined;
    durability?: Durability | undefined;
  };
  kill: { ref: ThreadRef; force?: boolean | undefined };
  fork: { ref: ThreadRef; options: Omit<ForkOptions, "env"> };
  remove: { ref: ThreadRef; force?: boolean | undefined };
  trash: Record<string, never>;
  restore: { threadId: string };

  wake: Omit<WakeOptions, "env">;
  recover: Omit<RecoverOptions, "env">;
  collect: { options?: CollectOptions | undefined };
  workers: Record<string, never>;
};

/** The arguments of each method that streams. `cursor` is the id of the last received item. */
export type RemoteStreams = {
  observe: {
    ref: ThreadRef;
    cursor?: string | undefined;
    options?: Omit<ObserveOptions, "signal"> | undefined;
  };
  log: { ref: ThreadRef; options?: Omit<LogOptions, "signal"> | undefined };
  changes: { cursor?: string | undefined };
  verify: Record<string, never>;
};
