import { withStrictSchemas } from "../bundle/role-schemas.ts";
import { StackMapper } from "../bundle/stack.ts";
import type { LoadedBundle } from "../bundle/store.ts";
import type { Bundle } from "../contract/contract.ts";
import { isWorkflowError, WorkflowError } from "../contract/error.ts";
import { maskLater, maskOf } from "../contract/mask.ts";
import type { SharedValues } from "../contract/shared-values.ts";
import type {
  AnswerRequest,
  Controlled,
  LeaveRequest,
  LiveThread,
  RemoveRequest,
  ResumeRequest,
  Started,
  StartRequest,
  Surroundings,
  WakeRequest,
  WokenHere,
} from "../control/control.ts";
import { describeOutcome, killed, type Outcome } from "../engine/ending.ts";
import { errorLine, errorOf } from "../engine/failure.ts";
import type { InfoLog } from "../log/info.ts";
import { textOf } from "../log/record.ts";
import type { ThreadLog } from "../log/log.ts";
import type { LogWriter } from "../log/writer.ts";
import type { Writing } from "../log/writing.ts";
import type { Root } from "../storage/paths.ts";
import { sharedIn } from "../storage/shared-values.ts";
import { system } from "../system/system.ts";
import type { Location } from "../storage/location.ts";
import { hasTaken, notFound, threadWithId } from "../thread/selection.ts";
import {
  hadEnded,
  notWaiting,
  refusals,
  refuse,
  stillWaiting,
  waiting,
  workerClosing,
} from "./refusal.ts";
import { isSoonAtWork, letGo, type Live, liveThreadOf, noteLeft } from "./leave.ts";
import { dueOf, forgetDue, isDue, removeLogs, surroundingsFor, wakeDue } from "./wake.ts";
import type { Orphans } from "./orphans.ts";
import type { SharedEnv } from "./context.ts";
import {
  type CreatedThread,
  checkParams,
  createLog,
  factsOf,
  infoLogOf,
  isCreated,
  optionsOf,
  otherBundle,
  startedBefore,
  type TakenOver,
  takeOver,
  withThreadId,
} from "./create.ts";
import { engineFor } from "./drive.ts";
import { journalIn } from "./journal.ts";

export type ThreadsParts = {
  root: Root;
  hash: string;
  /** Whether the worker before this one was lost, or left a log that failed to sync. */
  followsLost: boolean;
  /** What a lost worker had left running: nothing is driven before it is ended. `load` waits for it. */
  orphans: Orphans;
  /** The environment of its threads, which has the mark of the processes that this worker starts. */
  env: SharedEnv;
  load: () => Promise<LoadedBundle>;
  writing: Writing;
  /** Notes for a forced kill which threads are being driven. */
  note: (threadId: string, live: boolean) => void;
  onChange: () => void;
};

/** The threads that a worker drives. Each is changed by one request at a time. */
export class Threads {
  readonly #parts: ThreadsParts;
  readonly #live = new Map<string, Live>();
  readonly #stacks: StackMapper;
  readonly #shared: SharedValues;
  /** The thread that has been driven here when there was but one, null when there were others. */
  #onlyDriven: string | null | undefined;
  /** The threads that were taken over here, those of which a sync failed since, and those that are just killed. */
  readonly #driven = new Set<string>();
  readonly #unsynced = new Set<string>();
  readonly #ending = new Map<string, Promise<void>>();
  #isReleased = false;

  constructor(parts: ThreadsParts) {
    this.#parts = { ...parts, load: () => withStrictSchemas(parts.load()) };
    this.#stacks = new StackMapper(parts.root, parts.hash);
    this.#shared = sharedIn(parts.root);
  }

  /**
   * Whether any thread runs, is paused, or continues soon without an answer: one that waits or sleeps for
   * longer lets its worker exit.
   */
  get busy(): boolean {
    const now = system.clock.now();
    return this.#live.values().some(({ engine }) => isSoonAtWork(engine, now));
  }

  /** Whether a log that failed to sync is left: the worker that comes next must not trust the system's cache. */
  get hasUnsynced(): boolean {
    return this.#unsynced.size > 0;
  }

  list(): LiveThread[] {
    const now = system.clock.elapsed();
    const driven = [...this.#live].filter(([, { engine }]) => engine.isDriven);
    return driven.map(([threadId, live]) => liveThreadOf(threadId, live, now));
  }

  async start(request: StartRequest): Promise<Started> {
    const { root, hash } = this.#parts;
    const { threadId } = request;
    if (isCreated(root, hash, threadId)) return startedBefore(root, hash, threadId);
    const bundle = await this.#parts.load();
    await checkParams(bundle, request);
    const orphans = await this.#parts.orphans.besideFork(root, hash, request.fork?.hash);
    const begin = () => this.#begin(bundle, request, orphans);
    return request.isGiven ? withThreadId(root, threadId, begin) : begin();
  }

  #begin(bundle: LoadedBundle, request: StartRequest, orphans?: Orphans["report"]): Started {
    const { root, hash } = this.#parts;
    const { threadId } = request;
    if (isCreated(root, hash, threadId)) return startedBefore(root, hash, threadId);
    if (request.isGiven && threadWithId(root, threadId)) {
      throw refuse("THREAD_EXISTS", threadId, "is a thread of another version");
    }
    this.#drive(bundle, this.#create(bundle, request), request, orphans);
    return { threadId, started: true };
  }

  #create(bundle: LoadedBundle, request: StartRequest): CreatedThread {
    const { root, hash } = this.#parts;
    const { threadId } = request;
    this.#checkOpen(threadId);
    // Before its log can be seen: who is not answered yet looks here.
    this.#parts.note(threadId, true);
    try {
      return createLog(root, hash, request, this.#writing(request), factsOf(bundle));
    } catch (error) {
      this.#parts.note(threadId, false);
      // It was not synced, and could not be removed either.
      if (isCreated(root, hash, threadId)) this.#unsynced.add(threadId);
      throw error;
    }
  }

  async resume(threadId: string, request: ResumeRequest): Promise<Controlled> {
    const live = await this.#find(threadId);
    if (live?.engine.resume()) {
      live.pauses = false;
      this.#parts.note(threadId, true);
      return { threadId };
    }
    if (live?.engine.status === "waiting") throw waiting(threadId, live.engine.last);
    if (live) throw refuse("ALREADY_RUNNING", threadId, "runs already");
    const bundle = await this.#parts.load();
    if (this.#live.has(threadId)) throw refuse("ALREADY_RUNNING", threadId, "runs already");
    this.#driveAgain(bundle, threadId, request, stillWaiting);
    return { threadId, ...this.#parts.orphans.report };
  }

  /** Wakes the threads that are due; what nobody drives continues with these surroundings. */
  async wake(request: WakeRequest): Promise<WokenHere> {
    const { root, hash } = this.#parts;
    const bundle = await this.#parts.load();
    return await wakeDue(root, hash, async (due) => {
      await this.#find(due.threadId);
      // Another request may have begun to drive it meanwhile.
      if (!this.#live.has(due.threadId)) {
        const own = isDue(root, due) ? surroundingsFor(root, due, request) : null;
        if (own) this.#driveAgain(bundle, due.threadId, own);
      }
      return (await this.#live.get(due.threadId)?.engine.wake()) ?? false;
    });
  }

  async pause(threadId: string): Promise<Controlled> {
    const live = await this.#find(threadId);
    const hint = "see what runs: uncaged-workflow ps";
    if (!live) throw WorkflowError.failed("NOT_RUNNING", `${threadId} does not run`, hint);
    live.engine.pause();
    live.pauses = true;
    this.#parts.note(threadId, false);
    return { threadId };
  }

  async kill(threadId: string): Promise<Controlled> {
    const live = await this.#find(threadId);
    if (live) {
      await live.engine.kill();
      return { threadId };
    }
    await this.#parts.orphans.ended;
    const ended = this.#end(threadId, this.#takeOver(threadId, { env: {} }) ?? hadEnded(threadId));
    // The worker keeps its lock until the end record is written.
    this.#ending.set(
      threadId,
      ended.catch(() => undefined),
    );
    try {
      await ended;
    } finally {
      this.#ending.delete(threadId);
    }
    return { threadId, ...this.#parts.orphans.report };
  }

  async #end(threadId: string, { writer, log }: TakenOver): Promise<void> {
    try {
      await writer.append(textOf(killed(system.clock.now())));
      await forgetDue({ ...this.#parts, threadId, writer }, log.steps.at(-1) ?? null);
    } finally {
      await this.#close(threadId, writer);
    }
  }

  async answer(threadId: string, request: AnswerRequest): Promise<Controlled> {
    if (!(await this.#find(threadId))) {
      const { root, hash } = this.#parts;
      if (!isCreated(root, hash, threadId)) throw notFound(threadId);
      if (hasTaken(root, { hash, threadId }, request.input)) return { threadId };
      const bundle = await this.#parts.load();
      if (!this.#live.has(threadId)) {
        const refusal = (log: ThreadLog) => notWaiting(root, log, request);
        if (!this.#driveAgain(bundle, threadId, request, refusal)) hadEnded(threadId);
      }
    }
    await this.#live.get(threadId)?.engine.answer(request.input, request.question);
    this.#parts.onChange();
    return { threadId };
  }

  async remove(threadId: string, { force }: RemoveRequest): Promise<Controlled> {
    const live = await this.#find(threadId);
    if (live && !force) throw refuse("THREAD_RUNNING", threadId, `is ${live.engine.status}`);
    await live?.engine.kill();
    await live?.gone;
    this.#checkOpen(threadId);
    removeLogs(this.#parts.root, this.#parts.hash, threadId);
    return { threadId };
  }

  /** Stops driving a thread that does not run, and notes that it goes on on another host. The same again does nothing. */
  async leave(threadId: string, { to }: LeaveRequest): Promise<Location> {
    const { root, hash, orphans } = this.#parts;
    await orphans.ended;
    const isPaused = await letGo(threadId, {
      live: () => this.#live.get(threadId),
      takeOver: () => this.#takeOver(threadId, { env: {} }),
    });
    return noteLeft(root, { hash, threadId }, to, isPaused);
  }

  /** Stops driving all threads and leaves their logs so that each can be resumed. */
  async release(): Promise<void> {
    this.#isReleased = true;
    const all = [...this.#live.values()];
    for (const { engine } of all) void engine.release();
    for (const { gone } of all) await gone;
    await Promise.all(this.#ending.values());
  }

  /** How to fail the one thread that can have left what nobody caught: the only one ever driven here. */
  get failOnly(): ((thrown: unknown) => void) | null {
    return this.#live.get(this.#onlyDriven ?? "")?.fail ?? null;
  }

  /** Adds what nobody caught to the debug log of every thread that is driven. */
  noteUncaught(thrown: unknown): void {
    const line = errorLine(errorOf(thrown, (error) => this.#stacks.rewrite(error)));
    const content = `nobody caught, in one of this worker's threads: ${line}`;
    for (const { info } of this.#live.values()) info.log("R5DM7YB2", content);
  }

  #drive(
    bundle: Bundle,
    { start, steps, writer }: CreatedThread,
    surroundings: Surroundings,
    orphans?: Orphans["report"],
  ): InfoLog {
    const { root, hash, env: environment } = this.#parts;
    const { threadId } = start;
    const env = environment.with(surroundings.env);
    const mask = maskLater(() => maskOf(env, surroundings.secrets));
    const info = infoLogOf(root, start, mask);
    const { engine, fail } = engineFor({
      bundle,
      start,
      steps,
      options: { ...optionsOf(root, start, env), shared: this.#shared },
      append: (record) => (info.flushEvents(), writer.append(record)),
      info,
      journal: journalIn(root, start, surroundings.durability !== "os"),
      stacks: this.#stacks,
      mask,
      due: dueOf({ root, hash, threadId, writer }, this.#parts.writing.made),
      onWait: () => this.#parts.onChange(),
    });
    const gone = this.#settle(threadId, engine.done, info, writer);
    const since = system.clock.elapsed();
    const other = this.#onlyDriven !== undefined && this.#onlyDriven !== threadId;
    this.#onlyDriven = other ? null : threadId;
    this.#live.set(threadId, { engine, info, workflow: start.name, since, fail, gone });
    const payload = { pid: system.processes.pid, steps: steps.length, ...orphans };
    info.begin({ tag: "E9K2TNWD", type: "worker_start", stepID: null, payload });
    engine.start();
    this.#parts.onChange();
    return info;
  }

  async #settle(
    threadId: string,
    outcome: Promise<Outcome>,
    info: InfoLog,
    writer: LogWriter,
  ): Promise<void> {
    info.log("4SHB0GXR", describeOutcome(await outcome));
    await this.#close(threadId, writer);
    info.close();
    this.#live.delete(threadId);
    this.#parts.note(threadId, false);
    this.#parts.onChange();
  }

  async #close(threadId: string, writer: LogWriter): Promise<void> {
    await writer.close();
    if (writer.isSuspect) this.#unsynced.add(threadId);
  }

  // A thread whose end is written may still be closing its generator: nothing is done to it but to wait.
  async #find(threadId: string): Promise<Live | null> {
    const live = this.#live.get(threadId) ?? null;
    if (!live?.engine.over) return live;
    await live.gone;
    return this.#live.get(threadId) ?? null;
  }

  /** Continues a thread from its log, unless that is a reason to refuse it. False for one that had ended. */
  #driveAgain(
    bundle: LoadedBundle,
    threadId: string,
    request: Surroundings,
    refusal: (log: ThreadLog) => WorkflowError | null = () => null,
  ): boolean {
    const { root, hash, note, orphans } = this.#parts;
    // First of all: a worker that its disk keeps from all that follows is not stuck in its bundle.
    note(threadId, true);
    let isDriven = false;
    try {
      const taken = this.#takeOver(threadId, request);
      if (!taken) return false;
      const { log, writer, cut } = taken;
      const refused = otherBundle(root, log.start, { hash, sha256: bundle.sha256 }) ?? refusal(log);
      if (refused) {
        void writer.close();
        throw refused;
      }
      const info = this.#drive(bundle, { ...log, writer }, request, orphans.report);
      if (cut) info.log("T2RV8MJ6", `cut a torn tail of ${cut.bytes} bytes, kept in ${cut.keptIn}`);
      return (isDriven = true);
    } finally {
      if (!isDriven) note(threadId, false);
    }
  }

  #checkOpen(threadId: string): void {
    if (this.#isReleased) throw workerClosing();
    if (this.#ending.has(threadId)) throw refuse("ENDING", threadId, "is being killed");
  }

  #takeOver(threadId: string, surroundings: Surroundings): TakenOver | null {
    this.#checkOpen(threadId);
    const { root, hash, followsLost } = this.#parts;
    const isSuspect = this.#unsynced.has(threadId) || (followsLost && !this.#driven.has(threadId));
    try {
      const taken = takeOver(root, hash, threadId, this.#writing(surroundings), isSuspect);
      this.#unsynced.delete(threadId);
      this.#driven.add(threadId);
      return taken;
    } catch (error) {
      // What the disk has refused may have been a sync.
      if (!isWorkflowError(error) || !refusals.has(error.code)) this.#unsynced.add(threadId);
      throw error;
    }
  }

  #writing({ durability }: Surroundings): Writing {
    return durability === "os" ? { ...this.#parts.writing, syncer: null } : this.#parts.writing;
  }
}
