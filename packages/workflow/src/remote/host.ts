import { ulid } from "ulid";
import { isWorkflowError } from "../contract/error.ts";
import type { InputRequest } from "../control/control.ts";
import type {
  Added,
  ControlResult,
  Host,
  HostChange,
  LogLine,
  LogOptions,
  Observed,
  ThreadCommand,
  Verification,
} from "../host/host.ts";
import type { ThreadRef, ThreadRow } from "../record/thread.ts";
import { type CallOptions, Link, type LinkOptions } from "./link.ts";
import type { RemoteArguments, RemoteGreeting, RemoteStreams } from "./protocol.ts";
import { type StreamOptions, streamOf } from "./stream.ts";
import { type UploadOptions, uploadOf } from "./upload.ts";

/**
 * Options of {@link openRemoteHost}. `token` is the token that `serve` prints. It is sent only in the header
 * `Authorization`.
 */
export type RemoteHostOptions = LinkOptions &
  UploadOptions & {
    /** Called before an answer is sent. Throws to refuse the answer. */
    checkAnswer?: (() => void) | undefined;
  };

/**
 * Opens the host behind a server (`uncaged-workflow serve`) at a URL. Threads get the environment and the folder of the
 * server: `env` and `cwd` of the options are not sent. Failed connections are retried, and each call has its effect
 * only once; streams continue after their last item.
 *
 * @throws WorkflowError `BAD_HOST_URL` (usage), `NO_SERVER`, `NOT_A_SERVER`, `OTHER_PROTOCOL`, `NO_TOKEN`,
 * `WRONG_TOKEN`. Methods also throw `OUTCOME_UNKNOWN` when the response to a change was lost.
 * @example const host = await openRemoteHost("http://127.0.0.1:9160", { token });
 */
export async function openRemoteHost(url: string, options: RemoteHostOptions = {}): Promise<Host> {
  const link = new Link(url, options);
  return hostOf(link, await link.greeting(), options);
}

function hostOf(
  link: Link,
  { root, maxRecordBytes, heartbeatMs }: RemoteGreeting,
  options: RemoteHostOptions,
): Host {
  /** Calls a method without effects. */
  const ask = async <Method extends keyof RemoteArguments, Result>(
    method: Method,
    args: RemoteArguments[Method],
    call?: CallOptions,
  ): Promise<Result> => (await link.call(method, args, call)) as Result;
  /** Calls a method with an idempotent effect. */
  const change = <Method extends keyof RemoteArguments, Result>(
    method: Method,
    args: RemoteArguments[Method],
  ): Promise<Result> => ask(method, args, { key: newKey() });
  /** Calls a method that must not be applied twice. */
  const changeOnce = <Method extends keyof RemoteArguments, Result>(
    method: Method,
    args: RemoteArguments[Method],
  ): Promise<Result> => ask(method, args, { key: newKey(), once: true });
  const stream = <Method extends keyof RemoteStreams>(
    method: Method,
    given: Omit<StreamOptions, "args" | "heartbeatMs"> & {
      args: (cursor: string | undefined) => RemoteStreams[Method];
    },
  ) => streamOf(link, method, { ...given, heartbeatMs });

  const row = (ref: ThreadRef): Promise<ThreadRow | null> => ask("row", { ref: refOf(ref) });

  return {
    root,
    maxRecordBytes,

    async register(name, file, { dev, expected, onWarning, ...prepare } = {}) {
      const bundle = await uploadOf(file, { ...prepare, onWarning }, options);
      const added = await ask<"register", Added & { warnings: string[] }>(
        "register",
        { name, ...bundle, dev, expected },
        { key: newKey(), once: expected !== undefined },
      );
      const { warnings, ...rest } = added;
      if (options.prepare === undefined) for (const warning of warnings) onWarning?.(warning);
      return rest;
    },
    store: async (file, prepare = {}) => change("store", await uploadOf(file, prepare, options)),
    resolve: (workflow) => ask("resolve", { workflow }),
    workflows: () => ask("workflows", {}),
    workflow: (name) => ask("workflow", { name }),
    history: (name) => ask("history", { name }),
    rollback: (name, version) => changeOnce("rollback", { name, version }),
    unregister: (name) => changeOnce("unregister", { name }),
    version: (workflow) => ask("version", { workflow }),
    source: (workflow, file) => ask("source", { workflow, file }),
    changedRoles: (versions, roles) => ask("changedRoles", { versions, roles }),
    descriptor: (hash) => ask("descriptor", { hash }),

    start: (given) =>
      change("start", { ...withoutPlace(given), threadId: given.threadId ?? newKey() }),
    find: (text) => ask("find", { text }),
    threads: (query) => ask("threads", { query }),
    summary: (query) => ask("summary", { query }),
    live: () => ask("live", {}),
    row,
    read: (ref) => ask("read", { ref: refOf(ref) }),
    family: (ref) => ask("family", { ref: refOf(ref) }),
    attempts: (ref) => ask("attempts", { ref: refOf(ref) }),
    log: (ref, given = {}) => logOf(refOf(ref), given),
    value: (ref, at) => ask("value", { ref: refOf(ref), at }),
    observe: (ref, cursor, given = {}) => observe(refOf(ref), cursor, given),
    control: async (ref, command) => control(refOf(ref), command),
    async fork(ref, given) {
      if (given.input || given.edit) options.checkAnswer?.();
      const changes = { ...withoutPlace(given), threadId: given.threadId ?? newKey() };
      return await change("fork", { ref: refOf(ref), options: changes });
    },
    remove: (ref, { force } = {}) => changeOnce("remove", { ref: refOf(ref), force }),
    trash: () => ask("trash", {}),
    restore: (threadId) => changeOnce("restore", { threadId }),
    async *changes(signal): AsyncGenerator<HostChange> {
      const items = stream("changes", { args: (cursor) => ({ cursor }), signal });
      for await (const { data } of items) yield data as HostChange;
    },

    wake: (given) => change("wake", withoutPlace(given)),
    recover: (given) => change("recover", withoutPlace(given)),
    async verify({ onProgress } = {}) {
      const items = stream("verify", { args: () => ({}) });
      for (let next = await items.next(); ; next = await items.next()) {
        if (next.done) return next.value as Verification;
        onProgress?.(next.value.data as Verification["checked"]);
      }
    },
    collect: (given) => change("collect", { options: given }),
    workers: () => ask("workers", {}),
    async close() {
      // Nothing to close: streams end with their signals, calls with their responses.
    },
  };

  async function control<Command extends ThreadCommand>(
    ref: ThreadRef,
    command: Command,
  ): Promise<ControlResult<Command>> {
    const act = async (): Promise<unknown> => {
      switch (command.kind) {
        case "pause":
          return await change("pause", { ref });
        case "resume":
          return await changeOnce("resume", { ref, durability: command.durability });
        case "answer": {
          options.checkAnswer?.();
          const { question, durability } = command;
          return await change("answer", { ref, input: keyed(command.input), question, durability });
        }
        case "kill":
          return await kill(ref, command.force);
      }
    };
    return (await act()) as ControlResult<Command>;
  }

  async function kill(ref: ThreadRef, force: boolean | undefined): Promise<unknown> {
    const isKilled = async () => (await row(ref))?.status === "killed";
    // A forced kill must not wait for a blocked worker, but a read would wait.
    const wasKilled = !force && (await isKilled());
    try {
      return await changeOnce("kill", { ref, force });
    } catch (error) {
      const isUnknown = isWorkflowError(error) && error.code === "OUTCOME_UNKNOWN";
      if (!isUnknown) throw error;
      if (!wasKilled && (await isKilled())) return { threadId: ref.threadId, resumed: [] };
      return await changeOnce("kill", { ref, force });
    }
  }

  async function* observe(
    ref: ThreadRef,
    from: string | undefined,
    { signal, ...given }: NonNullable<Parameters<Host["observe"]>[2]>,
  ): AsyncGenerator<Observed> {
    const args = (cursor = from) => ({ ref, cursor, options: given });
    let last: string | null = null;
    let shown = "";
    try {
      for await (const { data } of stream("observe", { args, signal })) {
        const item = data as Observed;
        last = item.cursor;
        if (item.kind === "status") {
          // Skip an unchanged status: each request, also a repeated one, starts with the status.
          const text = JSON.stringify(item.state);
          if (text === shown) continue;
          shown = text;
        }
        yield item;
        if (item.kind === "end" || item.kind === "removed") return;
      }
    } catch (error) {
      if (last === null || !isWorkflowError(error) || error.code !== "THREAD_NOT_FOUND")
        throw error;
      yield { kind: "removed", cursor: last };
    }
  }

  async function* logOf(ref: ThreadRef, { signal, ...given }: LogOptions): AsyncGenerator<LogLine> {
    const args = (cursor?: string) => ({
      ref,
      options: cursor === undefined ? given : { ...given, tail: undefined, after: Number(cursor) },
    });
    // Lines in reverse order have no cursors: a repeated stream starts over, perhaps with newer lines.
    let last: string | null = null;
    let isRepeated = false;
    const onRepeat = (): void => {
      isRepeated = given.backward === true && last !== null;
    };
    for await (const { data } of stream("log", { args, signal, onRepeat })) {
      if (given.backward) {
        const text = JSON.stringify(data);
        const isSeen = isRepeated;
        if (text === last) isRepeated = false;
        if (isSeen) continue;
        last = text;
      }
      yield data as LogLine;
    }
  }
}

const newKey = (): string => ulid();

// Callers may pass references with more fields.
const refOf = ({ hash, threadId }: ThreadRef): ThreadRef => ({ hash, threadId });

/** Returns options without the environment and the folder: the server sets both. */
function withoutPlace<Options extends { env: unknown; cwd?: unknown }>(options: Options) {
  const { env: _, cwd: __, ...rest } = options;
  return rest;
}

/** Returns an answer with an idempotency key. */
const keyed = (input: InputRequest): InputRequest => ({
  ...input,
  meta: { ...input.meta, requestId: input.meta?.requestId ?? newKey() },
});
