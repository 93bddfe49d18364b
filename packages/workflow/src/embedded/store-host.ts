import { checkThreadId } from "../contract/names.ts";
import { notKept, threadOpen } from "../host/errors.ts";
import type {
  ControlResult,
  Forked,
  ForkOptions,
  Host,
  StartedThread,
  StartOptions,
  ThreadCommand,
} from "../host/host.ts";
import { isFromStep } from "../local/threads/answerer.ts";
import { Families } from "../local/threads/family.ts";
import { checkSameThread, checkStart, forkRequestOf, newThreadId } from "../local/threads/start.ts";
import { folderIn } from "../local/workers/surroundings.ts";
import { movedError, notFound } from "../record/errors.ts";
import type { ThreadRef } from "../record/thread.ts";
import { Memory } from "../store/memory.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { ThreadStore } from "../store/store.ts";
import type { Environment } from "../system/port.ts";
import { StoreActivity } from "./activity.ts";
import { Bell } from "./bell.ts";
import type { Caller, Commands, UnsentStart } from "./commands.ts";
import { Drivers } from "./drivers.ts";
import { changesOf, logOf, observe } from "./follow.ts";
import { OwnCommands } from "./own-commands.ts";
import { StoreCommands } from "./store-commands.ts";
import { StoredThreads } from "./stored-threads.ts";
import { StoredWorkflows } from "./stored-workflows.ts";
import { collect, verify } from "./upkeep.ts";

/** Options of a host over a store. */
export type StoreHostOptions = {
  /** Name of the store, as in `Host.root`. */
  root: string;
  /** Environment of threads that continue automatically when they are due; empty by default. */
  env?: Environment;
  /**
   * Whether the host drives threads in this process (default true). Otherwise it only writes to the store, and workers
   * drive the threads in their own environment ({@link driveStore}).
   */
  drives?: boolean;
};

/** Opens a host over a store in memory, for tests. Its threads run in this process and end with it. */
export const openMemoryHost = (memory: Memory = new Memory()): Host =>
  openStoreHost(memoryStore(memory), { root: "memory" });

/**
 * Opens a host over a thread store. By default it drives threads in this process, with the engine of workers. A role
 * that blocks the process blocks the host, and `process.exit` in a bundle ends both. `close` stops the threads, which
 * can be resumed, and closes the store.
 */
export function openStoreHost(
  store: ThreadStore,
  { root, env = {}, drives = true }: StoreHostOptions,
): Host {
  const bell = new Bell();
  const workflows = new StoredWorkflows(store);
  const drivers = drives ? new Drivers({ store, onChange: () => bell.ring() }) : null;
  const elsewhere = new StoreActivity(store);
  const activity = drivers ?? elsewhere;
  const threads = new StoredThreads(store, activity);
  const commands: Commands = drivers
    ? new OwnCommands(store, threads, drivers, env)
    : new StoreCommands(store, threads, workflows, elsewhere);
  const families = new Families({
    find: (text) => threads.find(text),
    all: (threadId) => threads.relatives(threadId),
    start: (ref) => threads.start(ref),
    rows: () => (ref) => threads.row(ref),
  });
  const closed = new AbortController();
  const following = { store, threads, activity, bell, closed: closed.signal };

  async function send(
    hash: string,
    given: string | undefined,
    request: Omit<UnsentStart, "threadId">,
    caller: Caller,
  ): Promise<StartedThread> {
    const threadId = given === undefined ? await newThreadId() : checkThreadId(given);
    const there = given === undefined ? null : await store.find(threadId);
    if (there) {
      if (there.movedTo !== null) throw movedError(threadId, there.movedTo);
      const record = await threads.start(there);
      if (record) checkSameThread(record, { ...request, hash });
      return { threadId, workflow: there.name, hash: there.hash };
    }
    await commands.start(hash, { ...request, threadId }, caller);
    bell.ring();
    const { name, hash: of } = (await store.find(threadId)) ?? { name: request.workflow, hash };
    return { threadId, workflow: name, hash: of };
  }

  async function start({ threadId, cwd, env: own, name, ...given }: StartOptions) {
    checkStart(given);
    const resolved = await workflows.resolve(given.workflow);
    const options = { ...given.options, cwd };
    const workflow = name ?? resolved.name;
    const request = { ...given, workflow, options };
    return await send(resolved.hash, threadId, request, { folder: cwd, env: own });
  }

  async function fork(ref: ThreadRef, options: ForkOptions): Promise<Forked> {
    const { env: own, threadId, ...given } = options;
    const source = {
      start: () => threads.start(ref),
      view: () => threads.read(ref),
      isFromStep: () => !drives && isFromStep(),
      path: store.where(ref, "data"),
    };
    const { hash, steps, request } = await forkRequestOf(source, ref, given, (on) =>
      workflows.resolve(on),
    );
    const caller = { folder: folderIn(await threads.start(ref)), env: own };
    const started = await send(hash, threadId, request, caller);
    return { ...started, forkFrom: { threadId: ref.threadId, steps } };
  }

  async function remove(ref: ThreadRef, { force = false }: { force?: boolean } = {}) {
    const { threadId, hash } = ref;
    const row = await threads.row(ref);
    if (!row) throw notFound(threadId);
    if (!force && ["running", "paused", "waiting"].includes(row.status)) {
      throw threadOpen(threadId, row.status);
    }
    await commands.remove({ hash, threadId }, force);
    bell.ring();
    return { threadId };
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
      return threads.page(query, workflow ? await workflows.selectors(workflow, threads) : null);
    },
    summary: async (query = {}) => {
      const { workflow } = query;
      return threads.summary(query, workflow ? await workflows.selectors(workflow, threads) : null);
    },
    live: () => commands.live(),
    row: (ref) => threads.row(ref),
    read: (ref) => threads.read(ref),
    family: ({ threadId }) => families.of(threadId),
    attempts: (ref) => threads.attempts(ref),
    log: (ref, options = {}) => logOf(following, ref, options),
    value: (...given) => threads.value(...given),
    observe: (ref, cursor, options = {}) => observe(following, ref, cursor, options),
    async control<Command extends ThreadCommand>(ref: ThreadRef, command: Command) {
      const done = await commands.control(ref, command);
      bell.ring();
      return done as ControlResult<Command>;
    },
    fork,
    remove,
    trash: async () => [],
    restore: async (threadId) => {
      throw notKept(threadId);
    },
    changes: (signal) => changesOf(following, signal),
    wake: (options) => commands.wake(options),
    recover: () => commands.recover(),

    verify: (options) => verify(store, threads.pages(), options),
    collect: (options) => collect(store, () => threads.hashes(), options),
    workers: () => commands.workers(),
    async close() {
      closed.abort();
      bell.ring();
      await commands.close();
      await store.close();
    },
  };
}
