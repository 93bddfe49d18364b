import { join } from "node:path";
import { StackMapper } from "../bundle/source-map.ts";
import { type Bundle, WAIT, type WaitMeta } from "../contract/contract.ts";
import { isWorkflowError, WorkflowError } from "../contract/error.ts";
import { OwnMap, OwnSet } from "../contract/own-collections.ts";
import { type Mask, maskOf } from "../contract/mask.ts";
import type {
  AnswerRequest,
  Controlled,
  LiveThread,
  RemoveRequest,
  ResumeRequest,
  Started,
  StartRequest,
  Surroundings,
} from "../control/control.ts";
import { isOver } from "../engine/answer.ts";
import { describeOutcome, killed, type Outcome } from "../engine/ending.ts";
import { ThreadEngine } from "../engine/engine.ts";
import { InfoLog } from "../log/info.ts";
import { textOf } from "../log/record.ts";
import type { LogWriter, Writing } from "../log/writer.ts";
import {
  bundlePath,
  dataPath,
  infoPath,
  mapPath,
  namesIn,
  type Root,
  threadsDir,
  valuesPath,
} from "../storage/paths.ts";
import { removeFile, syncFolder } from "../storage/files.ts";
import { system } from "../system/system.ts";
import { hasTaken, notFound, threadWithId } from "../thread/selection.ts";
import { withOwnBuiltIns } from "./built-ins.ts";
import { hadEnded, recordRefusal, refusals, refuse, waits, workerClosing } from "./refusal.ts";
import { attemptsIn, runInContext, type ThreadContext } from "./context.ts";
import {
  type CreatedThread,
  checkParams,
  compileForAnswer,
  createLog,
  isCreated,
  roundsOf,
  startedBefore,
  type TakenOver,
  takeOver,
  withThreadId,
} from "./create.ts";

export type ThreadsParts = {
  root: Root;
  hash: string;
  /** Whether the worker before this one was lost, or left a log that failed to sync. */
  followsLost: boolean;
  load: () => Promise<Bundle>;
  writing: Writing;
  /** Notes for a forced kill which threads are being driven. */
  note: (threadId: string, live: boolean) => void;
  onChange: () => void;
};

type Live = {
  engine: ThreadEngine;
  info: InfoLog;
  workflow: string;
  since: number;
  fail: (thrown: unknown) => void;
  /** Resolves when it is no longer driven and its log is closed. */
  gone: Promise<void>;
};

/** The threads that a worker drives. Each is changed by one request at a time. */
export class Threads {
  readonly #parts: ThreadsParts;
  readonly #live = new OwnMap<string, Live>();
  readonly #stacks: StackMapper;
  /** The thread that has been driven here when there was but one, null when there were others. */
  #onlyDriven: string | null | undefined;
  #env: { text: string; env: Readonly<Record<string, string>> } | null = null;
  /** The threads that were taken over here, those of which a sync failed since, and those that are just killed. */
  readonly #driven = new OwnSet<string>();
  readonly #unsynced = new OwnSet<string>();
  readonly #ending = new OwnSet<string>();
  #isReleased = false;

  constructor(parts: ThreadsParts) {
    this.#parts = parts;
    const { root, hash } = parts;
    this.#stacks = new StackMapper(
      { bundle: bundlePath(root, hash), map: mapPath(root, hash) },
      hash,
    );
  }

  /**
   * Whether any thread runs, is paused, or waits for an answer that must come in time: one that waits
   * for ever lets its worker exit.
   */
  get busy(): boolean {
    let busy = false;
    this.#live.forEach(({ engine }) => (busy ||= engine.status !== "waiting" || engine.timed));
    return busy;
  }

  /** Whether a log that failed to sync is left: the worker that comes next must not trust the system's cache. */
  get hasUnsynced(): boolean {
    return this.#unsynced.size > 0;
  }

  list(): LiveThread[] {
    const now = system.clock.elapsed();
    const driven = [...this.#live].filter(([, { engine }]) => engine.isDriven);
    return driven.map(([threadId, { engine, workflow, since }]) => ({
      threadId,
      workflow,
      status: engine.status,
      role: engine.last?.role ?? null,
      steps: engine.steps,
      elapsedMs: Math.round(now - since),
    }));
  }

  async start(request: StartRequest): Promise<Started> {
    const { root, hash } = this.#parts;
    const { threadId } = request;
    if (isCreated(root, hash, threadId)) return startedBefore(root, hash, threadId);
    const bundle = await this.#parts.load();
    await checkParams(bundle, request);
    const begin = () => withOwnBuiltIns(() => this.#begin(bundle, request));
    return request.isGiven ? withThreadId(root, threadId, begin) : begin();
  }

  #begin(bundle: Bundle, request: StartRequest): Started {
    const { root, hash } = this.#parts;
    const { threadId } = request;
    if (isCreated(root, hash, threadId)) return startedBefore(root, hash, threadId);
    if (request.isGiven && threadWithId(root, threadId)) {
      throw refuse("THREAD_EXISTS", threadId, "is a thread of another version");
    }
    const created = this.#create(request, roundsOf(bundle));
    this.#drive(bundle, created, request);
    return { threadId, started: true };
  }

  #create(request: StartRequest, rounds: number): CreatedThread {
    const { root, hash } = this.#parts;
    const { threadId } = request;
    this.#checkOpen(threadId);
    try {
      return createLog(root, hash, request, this.#writing(request), rounds);
    } catch (error) {
      // It was not synced, and could not be removed either.
      if (isCreated(root, hash, threadId)) this.#unsynced.add(threadId);
      throw error;
    }
  }

  async resume(threadId: string, request: ResumeRequest): Promise<Controlled> {
    const live = await this.#find(threadId);
    if (live?.engine.resume()) {
      this.#parts.note(threadId, true);
      return { threadId };
    }
    if (live?.engine.status === "waiting") throw waits(threadId);
    if (live) throw refuse("ALREADY_RUNNING", threadId, "runs already");
    const bundle = await this.#parts.load();
    if (this.#live.has(threadId)) throw refuse("ALREADY_RUNNING", threadId, "runs already");
    withOwnBuiltIns(() => this.#resumeFromLog(bundle, threadId, request));
    return { threadId };
  }

  #resumeFromLog(bundle: Bundle, threadId: string, request: ResumeRequest): void {
    const taken = this.#takeOver(threadId, request);
    if (!taken) return;
    const last = taken.log.steps.at(-1);
    if (last?.role === WAIT && !isOver(last.meta as WaitMeta, system.clock.now())) {
      void taken.writer.close();
      throw waits(threadId);
    }
    this.#driveAgain(bundle, taken, request);
  }

  async pause(threadId: string): Promise<Controlled> {
    const live = await this.#find(threadId);
    if (!live) {
      const hint = "see what runs: uncaged-workflow ps";
      throw WorkflowError.failed("NOT_RUNNING", `${threadId} does not run`, hint);
    }
    live.engine.pause();
    this.#parts.note(threadId, false);
    return { threadId };
  }

  async kill(threadId: string): Promise<Controlled> {
    const live = await this.#find(threadId);
    if (live) await live.engine.kill();
    else {
      const taken = withOwnBuiltIns(() => this.#takeOver(threadId, { env: {} }));
      const { writer } = taken ?? hadEnded(threadId);
      this.#ending.add(threadId);
      try {
        await writer.append(textOf(killed(system.clock.now())));
      } finally {
        await this.#close(threadId, writer);
        this.#ending.delete(threadId);
      }
    }
    return { threadId };
  }

  async answer(threadId: string, request: AnswerRequest): Promise<Controlled> {
    if (!(await this.#find(threadId))) {
      const { root, hash } = this.#parts;
      if (!isCreated(root, hash, threadId)) throw notFound(threadId);
      const isTaken = () => hasTaken(root, { hash, threadId }, request.input);
      if (withOwnBuiltIns(isTaken)) return { threadId };
      const bundle = await this.#parts.load();
      if (!this.#live.has(threadId)) {
        withOwnBuiltIns(() => this.#wake(bundle, threadId, request));
      }
    }
    await this.#live.get(threadId)?.engine.answer(request.input);
    this.#parts.onChange();
    return { threadId };
  }

  async remove(threadId: string, { force }: RemoveRequest): Promise<Controlled> {
    const live = await this.#find(threadId);
    if (live && !force) throw refuse("THREAD_RUNNING", threadId, `is ${live.engine.status}`);
    if (live) {
      await live.engine.kill();
      await live.gone;
    }
    const { root, hash } = this.#parts;
    this.#checkOpen(threadId);
    const isThere = isCreated(root, hash, threadId);
    // Whoever has removed it may have ended before that was durable.
    if (!isThere && system.files.exists(threadsDir(root, hash))) syncFolder(threadsDir(root, hash));
    if (!isThere) throw notFound(threadId);
    withOwnBuiltIns(() => this.#unlink(threadId));
    return { threadId };
  }

  /** Stops driving all threads and leaves their logs so that each can be resumed. */
  async release(): Promise<void> {
    this.#isReleased = true;
    const all: Promise<void>[] = [];
    this.#live.forEach(({ engine, gone }) => {
      void engine.release();
      all[all.length] = gone;
    });
    for (let n = 0; n < all.length; n += 1) await all[n];
  }

  /** How to fail the one thread that can have left what nobody caught: the only one ever driven here. */
  get failOnly(): ((thrown: unknown) => void) | null {
    return this.#live.get(this.#onlyDriven ?? "")?.fail ?? null;
  }

  /** Adds a line to the debug log of every thread that is driven. */
  noteAll(tag: string, content: string): void {
    this.#live.forEach(({ info }) => info.log(tag, content));
  }

  #drive(
    bundle: Bundle,
    { start, steps, writer }: CreatedThread,
    surroundings: Surroundings,
  ): InfoLog {
    const { threadId } = start;
    const env = this.#shared(surroundings.env);
    const mask = maskOf(env);
    const info = this.#infoOf(threadId, mask);
    const fail = (thrown: unknown) => void engine.fail(thrown).catch(() => undefined);
    const context: ThreadContext = { threadId, info, attempt: null, engine: () => engine, fail };
    const { forkFrom } = start;
    const { prompt, params } = start.parameters;
    const options = { ...start.parameters.options, threadId, env, ...(forkFrom && { forkFrom }) };
    const engine = new ThreadEngine(
      { run: bundle.run, prompt, steps, params, options },
      {
        log: { append: (record) => (info.flushEvents(), writer.append(record)) },
        attempts: attemptsIn(context, this.#stacks),
        scope: (fn) => runInContext(context, fn),
        note: (tag, content) => info.log(tag, content),
        onRefused: (stepID, reason) => recordRefusal(info, stepID, reason, engine.steps + 1),
        judge: compileForAnswer,
        mask,
        onWait: () => this.#parts.onChange(),
        now: () => system.clock.now(),
        closingMs: 5_000,
      },
    );
    const gone = this.#settle(threadId, engine.done, info, writer);
    const since = system.clock.elapsed();
    const other = this.#onlyDriven !== undefined && this.#onlyDriven !== threadId;
    this.#onlyDriven = other ? null : threadId;
    this.#live.set(threadId, { engine, info, workflow: start.name, since, fail, gone });
    this.#parts.note(threadId, true);
    const payload = { pid: system.processes.pid, steps: steps.length };
    info.event({ tag: "E9K2TNWD", type: "worker_start", stepID: null, payload });
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

  #wake(bundle: Bundle, threadId: string, request: AnswerRequest): void {
    const taken = this.#takeOver(threadId, request) ?? hadEnded(threadId);
    if (taken.log.steps.at(-1)?.role !== WAIT) {
      void taken.writer.close();
      const refused = refuse("NOT_WAITING", threadId, "waits for no answer");
      const info = this.#infoOf(threadId, maskOf(request.env));
      recordRefusal(info, null, refused.message, taken.log.steps.length + 1);
      info.close();
      throw refused;
    }
    this.#driveAgain(bundle, taken, request);
  }

  #driveAgain(bundle: Bundle, { log, writer, cut }: TakenOver, request: Surroundings): void {
    const info = this.#drive(bundle, { ...log, writer }, request);
    if (cut) info.log("T2RV8MJ6", `cut a torn tail of ${cut.bytes} bytes, kept in ${cut.keptIn}`);
  }

  #infoOf(threadId: string, mask: Mask): InfoLog {
    const { root, hash } = this.#parts;
    return new InfoLog(infoPath(root, hash, threadId), mask, valuesPath(root, hash, threadId));
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

  #unlink(threadId: string): void {
    const { root, hash } = this.#parts;
    const folder = threadsDir(root, hash);
    for (const path of [dataPath, infoPath, valuesPath]) removeFile(path(root, hash, threadId));
    for (const name of namesIn(folder)) {
      if (name.startsWith(`${threadId}.torn-`)) removeFile(join(folder, name));
    }
    syncFolder(folder);
  }

  #writing({ durability }: Surroundings): Writing {
    return durability === "os" ? { ...this.#parts.writing, syncer: null } : this.#parts.writing;
  }

  // Threads that one shell starts share one copy of its environment.
  #shared(env: Record<string, string>): Readonly<Record<string, string>> {
    const text = JSON.stringify(env);
    if (this.#env?.text !== text) this.#env = { text, env: Object.freeze(env) };
    return this.#env.env;
  }
}
