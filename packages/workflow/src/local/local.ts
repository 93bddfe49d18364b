import type { ControlResult, Host, ThreadCommand } from "../host/host.ts";
import { openRoot, type RootOptions } from "../storage/root.ts";
import type { ThreadRef } from "../thread/thread.ts";
import type { LiveWorkers } from "./live.ts";
import type { Prewarmed } from "./start.ts";
import type { Families } from "./family.ts";

const maxRecordBytes = 64 * 1024 * 1024;
/** How old the answer of a worker may be that an observer sees, in milliseconds. */
const freshMs = 250;

/** How a local host is opened: where, and with the worker that {@link prewarmWorker} has started. */
export type LocalHostOptions = RootOptions & { prewarmed?: Prewarmed | null };

/**
 * The host that a storage root of this machine is: its files, and the worker processes that drive its
 * threads. Nothing is written until something is registered or started. Its parts are loaded when they
 * are first used, for a command uses few of them and must begin at once.
 *
 * @throws WorkflowError those of `openRoot`.
 * @example const host = openLocalHost({ path: "/srv/workflows" });
 */
export function openLocalHost({ prewarmed, ...where }: LocalHostOptions = {}): Host {
  const root = openRoot(where);
  let workers: LiveWorkers | null = null;
  let families: Families | null = null;

  return {
    root,
    maxRecordBytes,

    async register(name, file, given) {
      return (await import("./workflows.ts")).addWorkflow(root, name, file, given);
    },
    async store(file, given) {
      return (await import("./workflows.ts")).storeBundle(root, file, given);
    },
    async resolve(workflow) {
      return (await import("./start.ts")).resolveWorkflow(root, workflow);
    },
    async workflows() {
      return (await import("./workflows.ts")).listWorkflows(root);
    },
    async workflow(name) {
      return (await import("./workflows.ts")).showWorkflow(root, name);
    },
    async history(name) {
      return (await import("./workflows.ts")).historyOf(root, name);
    },
    async rollback(name, version) {
      return (await import("./workflows.ts")).rollbackWorkflow(root, name, version);
    },
    async unregister(name) {
      return (await import("./workflows.ts")).removeWorkflow(root, name);
    },
    async version(workflow) {
      return (await import("./workflows.ts")).showVersion(root, workflow);
    },
    async source(workflow, file) {
      return (await import("./workflows.ts")).readVersionText(root, workflow, file);
    },
    async descriptor(hash) {
      return (await import("./workflows.ts")).descriptorOf(root, hash);
    },

    async start(given) {
      const { startThread } = await import("./start.ts");
      const started = await startThread(root, given, prewarmed);
      workers?.forget(started.hash);
      return started;
    },
    async find(text) {
      return (await import("./threads.ts")).findThread(root, text);
    },
    async threads(query) {
      return (await import("./list.ts")).listThreads(root, query);
    },
    async live() {
      return (await import("./live.ts")).listLive(root);
    },
    async row(ref) {
      return (await import("./list.ts")).readRow(root, ref);
    },
    async read(ref) {
      return (await import("./threads.ts")).readView(root, ref);
    },
    async family({ threadId }) {
      families ??= new (await import("./family.ts")).Families(root);
      return families.of(threadId);
    },
    async attempts(ref) {
      return (await import("./events.ts")).readAttempts(root, ref);
    },
    async *log(ref, given) {
      const { readLines } = await import("./events.ts");
      yield* readLines(root, ref, given);
    },
    async value(ref, at) {
      return (await import("./events.ts")).readValue(root, ref, at);
    },
    async *observe(ref, cursor, given = {}) {
      const { observe } = await import("./observe.ts");
      workers ??= new (await import("./live.ts")).LiveWorkers(root, freshMs);
      yield* observe(root, ref, workers, cursor, given);
    },
    async control<Command extends ThreadCommand>(ref: ThreadRef, command: Command) {
      const { control } = await import("./control.ts");
      const done = await control(root, ref, command);
      workers?.forget(ref.hash);
      return done as ControlResult<Command>;
    },
    async fork(ref, given) {
      const { forkThread } = await import("./start.ts");
      const forked = await forkThread(root, ref, given);
      workers?.forget(forked.hash);
      return forked;
    },
    async remove(ref, given) {
      return (await import("./control.ts")).removeThread(root, ref, given);
    },
    async *changes(signal) {
      const { changes } = await import("./changes.ts");
      yield* changes(root, signal);
    },

    async verify(given) {
      return (await import("./verify.ts")).verifyStore(root, given);
    },
    async collect(given) {
      return (await import("./gc.ts")).collectGarbage(root, given);
    },
    async workers() {
      return (await import("./live.ts")).listWorkers(root);
    },
    async close() {
      // Nothing is held open between two calls; what is observed ends by its signal.
    },
  };
}
