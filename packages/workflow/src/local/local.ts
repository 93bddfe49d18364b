import type { ControlResult, Host, ThreadCommand } from "../host/host.ts";
import { openRoot, type RootOptions } from "../storage/root.ts";
import type { ThreadRef } from "../thread/thread.ts";
import type { Families } from "./family.ts";
import type { LiveWorkers } from "./live.ts";
import type { Marks } from "./observe.ts";
import type { ThreadIndex } from "./thread-index.ts";

const maxRecordBytes = 64 * 1024 * 1024;
/** How old the answer of a worker may be that an observer sees, in milliseconds. */
const freshMs = 250;

// Each part is loaded when it is first used: a command uses few of them and must begin at once.
const control = () => import("./control.ts");
const events = () => import("./events.ts");
const list = () => import("./list.ts");
const live = () => import("./live.ts");
const start = () => import("./start.ts");
const threads = () => import("./threads.ts");
const workflows = () => import("./workflows.ts");

/**
 * The host that a storage root of this machine is: its files, and the worker processes that drive its
 * threads. Nothing is written until something is registered or started.
 *
 * @throws WorkflowError those of `openRoot`.
 * @example const host = openLocalHost({ path: "/srv/workflows" });
 */
export function openLocalHost(options: RootOptions = {}): Host {
  const root = openRoot(options);
  let workers: LiveWorkers | null = null;
  let marks: Marks | null = null;
  let families: Families | null = null;
  let index: ThreadIndex | null = null;
  let lists = 0;
  const indexed = async () => {
    const { readIndexed } = await list();
    const { ThreadIndex } = await import("./thread-index.ts");
    return (index ??= new ThreadIndex(root, (ref) => readIndexed(root, ref)));
  };

  return {
    root,
    maxRecordBytes,

    register: async (...given) => (await workflows()).addWorkflow(root, ...given),
    store: async (...given) => (await workflows()).storeBundle(root, ...given),
    resolve: async (workflow) => (await start()).resolveWorkflow(root, workflow),
    workflows: async () => (await workflows()).listWorkflows(root),
    workflow: async (name) => (await workflows()).showWorkflow(root, name),
    history: async (name) => (await workflows()).historyOf(root, name),
    rollback: async (...given) => (await workflows()).rollbackWorkflow(root, ...given),
    unregister: async (name) => (await workflows()).removeWorkflow(root, name),
    version: async (workflow) => (await workflows()).showVersion(root, workflow),
    source: async (...given) => (await workflows()).readVersionText(root, ...given),
    changedRoles: async (...given) => (await workflows()).compareRoles(root, ...given),
    descriptor: async (hash) => (await workflows()).descriptorOf(root, hash),

    async start(given) {
      const thread = await (await start()).startThread(root, given);
      workers?.forget(thread.hash);
      return thread;
    },
    find: async (text) => (await threads()).findThread(root, text),
    async threads(query) {
      const { listThreads, worthIndexing } = await list();
      const all = await indexed();
      const page = await listThreads(root, query, all);
      lists += 1;
      // Who lists once may never again.
      if (lists > 1 && (page.total ?? 0) >= worthIndexing) void all.build();
      return page;
    },
    live: async () => (await live()).listLive(root),
    row: async (ref) => (await list()).readRow(root, ref),
    read: async (ref) => (await threads()).readView(root, ref),
    async family({ threadId }) {
      families ??= new (await import("./family.ts")).Families(root);
      return families.of(threadId);
    },
    attempts: async (ref) => (await events()).readAttempts(root, ref),
    async *log(...given) {
      yield* (await events()).readLines(root, ...given);
    },
    value: async (...given) => (await events()).readValue(root, ...given),
    async *observe(ref, cursor, given = {}) {
      const { Marks, observe } = await import("./observe.ts");
      marks ??= new Marks();
      workers ??= new (await live()).LiveWorkers(root, freshMs);
      yield* observe(root, ref, { live: workers, marks }, cursor, given);
    },
    async control<Command extends ThreadCommand>(ref: ThreadRef, command: Command) {
      const done = await (await control()).control(root, ref, command);
      workers?.forget(ref.hash);
      return done as ControlResult<Command>;
    },
    async fork(...given) {
      const forked = await (await start()).forkThread(root, ...given);
      workers?.forget(forked.hash);
      return forked;
    },
    async remove(ref, ...given) {
      const removed = await (await control()).removeThread(root, ref, ...given);
      await (await indexed()).forget(ref);
      return removed;
    },
    wake: async (given) => (await import("./wake.ts")).wakeThreads(root, given),
    async *changes(signal) {
      yield* (await import("./changes.ts")).changes(root, signal);
    },

    verify: async (given) => (await import("./verify.ts")).verifyStore(root, given),
    collect: async (given) => (await import("./gc.ts")).collectGarbage(root, given),
    workers: async () => (await live()).listWorkers(root),
    async close() {
      // What is observed ends by its signal.
      index?.close();
    },
  };
}
