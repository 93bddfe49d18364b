import type { ControlResult, Host, Observed, ObserveOptions, ThreadCommand } from "../host/host.ts";
import type { Root } from "../disk/paths.ts";
import { openRoot, type RootOptions } from "../disk/root.ts";
import type { ThreadRef } from "../record/thread.ts";
import { changes } from "./threads/changes.ts";
import { control, removeThread } from "./workers/control.ts";
import { readAttempts, readLines, readValue } from "./threads/events.ts";
import { familiesIn } from "./threads/family.ts";
import { collectGarbage } from "./upkeep/gc.ts";
import { listThreads, worthIndexing } from "./threads/list.ts";
import { readIndexed, readRow } from "./threads/row.ts";
import { summaryOf } from "./threads/summary.ts";
import { type Drivers, LiveWorkers, listLive, listWorkers } from "./workers/live.ts";
import { Marks, observe } from "./threads/observe.ts";
import { forkThread, resolveWorkflow, startThread } from "./threads/start.ts";
import { listTrash, restoreFromTrash } from "./threads/trash.ts";
import { ThreadIndex } from "./threads/thread-index.ts";
import { findThread, readView } from "./threads/view.ts";
import { verifyStore } from "./upkeep/verify.ts";
import { recoverThreads } from "./workers/recover.ts";
import { wakeThreads } from "./workers/wake.ts";
import {
  addWorkflow,
  compareRoles,
  descriptorOf,
  historyOf,
  listWorkflows,
  readVersionText,
  removeWorkflow,
  rollbackWorkflow,
  showVersion,
  showWorkflow,
  storeBundle,
} from "./workflows.ts";

const maxRecordBytes = 64 * 1024 * 1024;
/** The maximum age of a worker's report that an observer uses, in milliseconds. */
const freshMs = 250;

/**
 * Opens a storage root of this machine as a host: its files, and the worker processes that drive its threads. Writes
 * nothing until a workflow is registered or a thread started.
 *
 * @throws WorkflowError the errors of `openRoot`.
 * @example const host = openLocalHost({ path: "/srv/workflows" });
 */
export function openLocalHost(options: RootOptions = {}): Host {
  return hostOf(openRoot(options));
}

/** A host of a storage root with copies of another host's threads. */
export type CopyHost = Omit<Host, "observe"> & {
  /** Like `Host.observe`; `drivers` reports the thread's driver. */
  observe(
    ref: ThreadRef,
    cursor?: string,
    options?: ObserveOptions,
    drivers?: Drivers,
  ): AsyncGenerator<Observed>;
};

/**
 * Opens a storage root with copies of another host's threads and bundles. Reads work as on the local host. `drivers`
 * reports the driver of a thread.
 */
export const copyHost = (root: Root, drivers: Drivers): CopyHost => hostOf(root, drivers);

function hostOf(root: Root, drivers?: Drivers): CopyHost {
  const workers = new LiveWorkers(root, freshMs);
  const marks = new Marks();
  const families = familiesIn(root);
  const index = new ThreadIndex(root, (ref) => readIndexed(root, ref));
  let lists = 0;

  return {
    root,
    maxRecordBytes,

    register: async (...given) => addWorkflow(root, ...given),
    store: async (...given) => storeBundle(root, ...given),
    resolve: async (workflow) => resolveWorkflow(root, workflow),
    workflows: async () => listWorkflows(root),
    workflow: async (name) => showWorkflow(root, name),
    history: async (name) => historyOf(root, name, index),
    rollback: async (...given) => rollbackWorkflow(root, ...given),
    unregister: async (name) => removeWorkflow(root, name),
    version: async (workflow) => showVersion(root, workflow),
    source: async (...given) => readVersionText(root, ...given),
    changedRoles: async (...given) => compareRoles(root, ...given),
    descriptor: async (hash) => descriptorOf(root, hash),

    async start(given) {
      const thread = await startThread(root, given);
      workers.forget(thread.hash);
      return thread;
    },
    find: async (text) => findThread(root, text),
    async threads(query) {
      const page = await listThreads(root, query, index);
      lists += 1;
      // Build the index at the second list: a client may list only once.
      if (lists > 1 && (page.total ?? 0) >= worthIndexing) void index.build();
      return page;
    },
    summary: async (query = {}) => summaryOf(root, query, index),
    live: async () => listLive(root),
    row: async (ref) => readRow(root, ref),
    read: async (ref) => readView(root, ref, drivers),
    family: async ({ threadId }) => families.of(threadId),
    attempts: async (ref) => readAttempts(root, ref, drivers),
    log: (ref, given) => readLines(root, ref, given, drivers),
    value: async (...given) => readValue(root, ...given),
    observe: (ref, cursor, given = {}, live = drivers ?? workers) =>
      observe(root, ref, { live, marks }, cursor, given),
    async control<Command extends ThreadCommand>(ref: ThreadRef, command: Command) {
      const done = await control(root, ref, command);
      workers.forget(ref.hash);
      return done as ControlResult<Command>;
    },
    async fork(...given) {
      const forked = await forkThread(root, ...given);
      workers.forget(forked.hash);
      return forked;
    },
    async remove(ref, ...given) {
      const removed = await removeThread(root, ref, ...given);
      await index.forget(ref);
      return removed;
    },
    trash: async () => listTrash(root),
    restore: async (threadId) => restoreFromTrash(root, threadId),
    wake: async (given) => wakeThreads(root, given),
    recover: async (given) =>
      recoverThreads(root, given, (query) => listThreads(root, query, index)),
    changes: (signal) => changes(root, signal),

    verify: async (given) => verifyStore(root, given),
    collect: async (given) => collectGarbage(root, given),
    workers: async () => listWorkers(root),
    async close() {
      // Observers end by their own signals.
      index.close();
    },
  };
}
