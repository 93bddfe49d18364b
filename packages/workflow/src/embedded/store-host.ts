import { toErrorRecord } from "../contract/error.ts";
import { checkThreadId } from "../contract/names.ts";
import { type Controlled, requestText, type StartRequest } from "../control/control.ts";
import { answerRequest, resumeRequest, startRequest, wakeRequest } from "../control/requests.ts";
import type {
  ControlResult,
  Forked,
  ForkOptions,
  Host,
  StartedThread,
  StartOptions,
  ThreadCommand,
  WakeOptions,
  Woken,
} from "../host/host.ts";
import { Families } from "../local/threads/family.ts";
import { checkSameThread, checkStart, forkRequestOf, newThreadId } from "../local/threads/start.ts";
import { definedEnv, envsOf, folderIn, surroundingsIn } from "../local/workers/surroundings.ts";
import { type ThreadRef } from "../record/thread.ts";
import { Memory } from "../store/memory.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { ThreadStore } from "../store/store.ts";
import type { Environment } from "../system/port.ts";
import { system } from "../system/system.ts";
import { Bell } from "./bell.ts";
import { Drivers } from "./drivers.ts";
import { changesOf, observe } from "./follow.ts";
import { StoredThreads } from "./stored-threads.ts";
import { StoredWorkflows } from "./stored-workflows.ts";
import { collect, verify } from "./upkeep.ts";
import { threadOpen } from "../host/errors.ts";
import { notInTrash } from "../disk/errors.ts";
import { endedError, movedError, notFound } from "../record/errors.ts";

/** Options of a host over a store. */
export type StoreHostOptions = {
  /** Name of the store, as in `Host.root`. */
  root: string;
  /** Environment of threads that continue automatically when they are due; empty by default. */
  env?: Environment;
};

/** Interval of the search for due threads, in milliseconds. */
const wakeEveryMs = 1_000;
const most = Number.MAX_SAFE_INTEGER;

/** Opens a host over a store in memory, for tests. Its threads run in this process and end with it. */
export const openMemoryHost = (memory: Memory = new Memory()): Host =>
  openStoreHost(memoryStore(memory), { root: "memory" });

/**
 * Opens a host over a thread store. It drives threads in this process, with the engine of workers. A role that blocks
 * the process blocks the host, and `process.exit` in a bundle ends both. `close` stops the threads, which can be
 * resumed, and closes the store.
 */
export function openStoreHost(store: ThreadStore, { root, env = {} }: StoreHostOptions): Host {
  const bell = new Bell();
  const drivers = new Drivers(store, () => bell.ring());
  const threads = new StoredThreads(store, drivers);
  const workflows = new StoredWorkflows(store);
  const families = new Families({
    find: (text) => threads.find(text),
    all: () => threads.all(),
    start: (ref) => threads.start(ref),
    rows: () => (ref) => threads.row(ref),
  });
  const closed = new AbortController();
  const following = { store, threads, drivers, bell, closed: closed.signal };
  let stopWaking = (): void => undefined;

  const scheduleWake = (): void => {
    stopWaking = system.clock.after(wakeEveryMs, () => {
      // A thread that can't be woken is due again in a minute.
      void wake({ env })
        .catch(() => undefined)
        .then(() => closed.signal.aborted || scheduleWake());
    });
  };
  scheduleWake();

  /** Parses a control request, as a worker does from its socket. */
  const parsed = <Request>(read: (body: string) => Request, request: unknown): Request =>
    read(requestText(request));

  async function send(
    hash: string,
    given: string | undefined,
    request: Omit<StartRequest, "threadId">,
  ): Promise<StartedThread> {
    const threadId = given === undefined ? await newThreadId() : checkThreadId(given);
    const there = given === undefined ? null : await store.find(threadId);
    if (there) {
      if (there.movedTo !== null) throw movedError(threadId, there.movedTo);
      const record = await threads.start(there);
      if (record) checkSameThread(record, { ...request, hash });
      return { threadId, workflow: there.name, hash: there.hash };
    }
    await drivers.of(hash).start(parsed(startRequest, { ...request, threadId }));
    bell.ring();
    const { name, hash: of } = (await store.find(threadId)) ?? { name: request.workflow, hash };
    return { threadId, workflow: name, hash: of };
  }

  async function start({ threadId, cwd, env: own, name, ...given }: StartOptions) {
    checkStart(given);
    const resolved = await workflows.resolve(given.workflow);
    const options = { ...given.options, cwd };
    const surroundings = await surroundingsIn(cwd, own);
    const workflow = name ?? resolved.name;
    const request = { ...given, workflow, options, ...surroundings };
    return await send(resolved.hash, threadId, request);
  }

  async function fork(ref: ThreadRef, options: ForkOptions): Promise<Forked> {
    const { env: own, threadId, ...given } = options;
    const source = {
      start: () => threads.start(ref),
      view: () => threads.read(ref),
      isFromStep: () => false,
      path: store.where(ref, "data"),
    };
    const { hash, steps, request } = await forkRequestOf(source, ref, given, (on) =>
      workflows.resolve(on),
    );
    const surroundings = await surroundingsIn(folderIn(await threads.start(ref)), own);
    const started = await send(hash, threadId, { ...request, ...surroundings });
    return { ...started, forkFrom: { threadId: ref.threadId, steps } };
  }

  async function control(ref: ThreadRef, command: ThreadCommand): Promise<Controlled> {
    const { hash, threadId } = ref;
    const view = await threads.read(ref);
    if (view.movedTo !== undefined) throw movedError(threadId, view.movedTo);
    const driven = drivers.of(hash);
    if (command.kind === "kill")
      return { ...(await driven.kill(threadId)), resumed: [] } as Controlled;
    if (command.kind === "pause") {
      if ("result" in view) throw endedError(threadId, view.result.reason ?? view.status);
      return await driven.pause(threadId);
    }
    const folder = folderIn(await threads.start(ref));
    const surroundings = await surroundingsIn(folder, command.env);
    const { durability } = command;
    if (command.kind === "resume") {
      return await driven.resume(threadId, parsed(resumeRequest, { ...surroundings, durability }));
    }
    const { question } = command;
    const request = { ...surroundings, durability, input: command.input, question };
    return await driven.answer(threadId, parsed(answerRequest, request));
  }

  async function remove(ref: ThreadRef, { force = false }: { force?: boolean } = {}) {
    const { threadId, hash } = ref;
    const row = await threads.row(ref);
    if (!row) throw notFound(threadId);
    if (!force && ["running", "paused", "waiting"].includes(row.status)) {
      throw threadOpen(threadId, row.status);
    }
    const { threadId: removed } = await drivers.of(hash).remove(threadId, { force });
    bell.ring();
    return { threadId: removed };
  }

  async function wake({ env: given, durability }: WakeOptions): Promise<Woken> {
    const done: Woken = { woken: [], failed: [], next: null };
    const now = system.clock.now();
    const due = await store.runnable({ now, limit: most, onlyDue: true });
    const own = definedEnv(given);
    const starts = await Promise.all(due.map((ref) => threads.start(ref)));
    const folders = await envsOf(starts.map(folderIn), own);
    const body = parsed(wakeRequest, { env: own, durability, folders });
    const hashes = new Set([...due, ...drivers.live()].map(({ hash }) => hash));
    for (const hash of hashes) {
      try {
        for (let more = true; more; ) {
          const found = await drivers.of(hash).wake(body);
          done.woken.push(...found.woken.map((threadId) => ({ hash, threadId })));
          done.failed.push(...found.failed.map((one) => ({ ...one, hash })));
          more = found.more && found.woken.length > 0;
        }
      } catch (error) {
        const refs = due.filter((ref) => ref.hash === hash);
        const record = toErrorRecord(error);
        for (const { threadId } of refs) done.failed.push({ hash, threadId, error: record });
        for (const ref of refs) await store.postpone(ref, now + 60_000);
      }
    }
    const dueAts = (await threads.all()).flatMap(({ state }) =>
      state.kind === "waiting" && state.dueAt !== null ? [state.dueAt] : [],
    );
    return { ...done, next: dueAts.length > 0 ? Math.min(...dueAts) : null };
  }

  return {
    root,
    maxRecordBytes: store.maxRecordBytes,

    register: (...given) => workflows.register(...given),
    store: async (...given) => ({ hash: await workflows.put(...given) }),
    async resolve(text) {
      const { name, hash } = await workflows.resolve(text);
      return { name, hash };
    },
    workflows: () => workflows.list(),
    workflow: (name) => workflows.show(name),
    history: (name) => workflows.history(name, threads),
    rollback: (...given) => workflows.rollback(...given),
    unregister: (name) => workflows.unregister(name),
    version: (text) => workflows.version(text),
    source: (...given) => workflows.source(...given),
    changedRoles: (...given) => workflows.changedRoles(...given),
    descriptor: (hash) => workflows.descriptor(hash),

    start,
    find: (text) => threads.find(text),
    threads: async (query = {}) => {
      const { workflow } = query;
      return threads.page(query, workflow ? await workflows.selectors(workflow) : null);
    },
    summary: async (query = {}) => {
      const { workflow } = query;
      return threads.summary(query, workflow ? await workflows.selectors(workflow) : null);
    },
    live: async () => drivers.live(),
    row: (ref) => threads.row(ref),
    read: (ref) => threads.read(ref),
    family: ({ threadId }) => families.of(threadId),
    attempts: (ref) => threads.attempts(ref),
    log: (ref, options = {}) => threads.log(ref, options, () => bell.next()),
    value: (...given) => threads.value(...given),
    observe: (ref, cursor, options = {}) => observe(following, ref, cursor, options),
    async control<Command extends ThreadCommand>(ref: ThreadRef, command: Command) {
      const done = await control(ref, command);
      bell.ring();
      return done as ControlResult<Command>;
    },
    fork,
    remove,
    trash: async () => [],
    restore: async (threadId) => {
      throw notInTrash(threadId);
    },
    changes: (signal) => changesOf(following, signal),
    wake,
    async recover() {
      const { rows } = await threads.page({ status: ["interrupted", "paused"], limit: most }, null);
      const isDriven = new Set(drivers.live().map(({ threadId }) => threadId));
      const reason = "its store can't tell whether another process drives it";
      const left = rows
        .filter(({ threadId }) => !isDriven.has(threadId))
        .map(({ hash, threadId, workflow }) => ({ hash, threadId, workflow, reason }));
      return { resumed: [], left };
    },

    verify: (options) => verify(store, options),
    collect: (options) => collect(store, options),
    workers: async () => {
      const { pid } = system.processes;
      const hashes = new Set(drivers.live().map(({ hash }) => hash));
      return [...hashes].map((hash) => ({ hash, state: "answers" as const, pid, orphans: [] }));
    },
    async close() {
      stopWaking();
      closed.abort();
      bell.ring();
      await drivers.close();
      await store.close();
    },
  };
}
