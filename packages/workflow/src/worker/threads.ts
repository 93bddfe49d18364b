import { withStrictSchemas } from "../bundle/role-schemas.ts";
import type { LoadedBundle } from "../bundle/store.ts";
import { WAIT } from "../contract/contract.ts";
import { toErrorRecord } from "../contract/error.ts";
import type {
  AnswerRequest,
  Controlled,
  LeaveRequest,
  LiveThread,
  Location,
  RemoveRequest,
  ResumeRequest,
  Started,
  StartRequest,
  WakeRequest,
  WokenHere,
} from "../control/control.ts";
import { errorLine, errorOf } from "../engine/failure.ts";
import type { Claim, ClaimOptions } from "../store/store.ts";
import { system } from "../system/system.ts";
import { checkParams, hasTaken, otherBundle, prepareThread, roundsOf } from "./create.ts";
import {
  claimOpen,
  claimOptions,
  type Driven,
  endClaimed,
  openLive,
  settleLog,
  startedBefore,
} from "./open.ts";
import { type Creating, isSoonAtWork, type Live, liveThreads } from "./live.ts";
import { checkPausable, noteRefusal, stillWaiting, waiting } from "./refusal.ts";
import { Turns } from "./turns.ts";
import type { ThreadsParts } from "./parts.ts";
import { isDue, mostAtOnce, surroundingsFor, wakeAgainMs } from "./wake.ts";
import { alreadyRunning, workerClosing } from "./errors.ts";
import { movesNotRunning, notFound } from "../record/errors.ts";
import { threadOpen } from "../host/errors.ts";

/** The threads of one bundle that a worker drives. Claims and creations of the same thread run in sequence. */
export class Threads {
  readonly #parts: ThreadsParts;
  readonly #live = new Map<string, Live>();
  /** Threads in creation: they run as soon as they are visible. */
  readonly #creating = new Map<string, Creating>();
  readonly #turns = new Turns();
  /** The only thread that this worker has ever driven: undefined before the first thread, null after the second. */
  #onlyDriven: string | null | undefined;
  #isReleased = false;

  constructor(parts: ThreadsParts) {
    this.#parts = { ...parts, load: () => withStrictSchemas(parts.load()) };
  }

  /**
   * Whether any thread runs, is paused, or will soon continue after a sleep or a timeout. Other waiting threads let the
   * worker exit.
   */
  get busy(): boolean {
    const now = system.clock.now();
    return this.#live.values().some(({ engine }) => isSoonAtWork(engine, now));
  }

  list(): LiveThread[] {
    return liveThreads(this.#live, this.#creating, system.clock.elapsed());
  }

  async start(request: StartRequest): Promise<Started> {
    const { threadId } = request;
    const there = await this.#parts.store.find(threadId);
    if (there) return startedBefore(this.#parts.hash, there);
    const bundle = await this.#parts.load();
    await checkParams(bundle, request);
    const orphans = await this.#parts.orphans.besideFork(request.fork?.hash);
    return await this.#turns.alone(threadId, () => this.#create(bundle, request, orphans));
  }

  async #create(
    bundle: LoadedBundle,
    request: StartRequest,
    orphans: Pick<Controlled, "orphans">,
  ): Promise<Started> {
    const { store, hash, place, note } = this.#parts;
    const { threadId, workflow } = request;
    this.#checkOpen();
    if (this.#live.has(threadId)) return { threadId, started: false };
    // A client that gets no response checks this note.
    note(threadId, true);
    this.#creating.set(threadId, { workflow, since: system.clock.elapsed() });
    let claim: Claim | null = null;
    let isDriven = false;
    try {
      const startedIn = await place.startedIn(request.env);
      const facts = { rounds: roundsOf(bundle), sha256: bundle.sha256, startedIn };
      const { thread, steps } = await prepareThread(store, hash, request, facts);
      if (request.fork) place.noteCopied(threadId, steps);
      const created = await store.create(thread, claimOptions(this.#parts, request));
      claim = created.claim;
      if (!claim) return startedBefore(hash, created.thread);
      await this.#drive(bundle, claim, request, orphans);
      isDriven = true;
      return { threadId, started: true };
    } finally {
      this.#creating.delete(threadId);
      if (!isDriven) await this.#letGo(threadId, claim);
    }
  }

  async resume(threadId: string, request: ResumeRequest): Promise<Controlled> {
    const live = await this.#find(threadId);
    if (live?.engine.isPausing) {
      await this.#parts.store.setPaused(live.ref, false);
      live.engine.resume();
      this.#parts.note(threadId, true);
      return { threadId };
    }
    if (live?.engine.status === "waiting") throw waiting(threadId, live.engine.last);
    if (live) throw alreadyRunning(threadId);
    const bundle = await this.#parts.load();
    await this.#turns.alone(threadId, async () => {
      if (this.#live.has(threadId)) throw alreadyRunning(threadId);
      await this.#driveAgain(bundle, threadId, request, async (claim) => {
        const refusal = stillWaiting(threadId, claim.steps);
        if (refusal && !claim.thread.paused) throw refusal;
        if (claim.thread.paused) await this.#parts.store.setPaused(claim.ref, false);
        return refusal ? null : { ...request, goesOn: true };
      });
    });
    return { threadId, ...this.#parts.orphans.report };
  }

  /**
   * Resumes an interrupted thread automatically.
   * @throws WorkflowError `NOT_RECOVERED` when the user must decide, `ALREADY_RUNNING`; the errors of `resume`
   */
  async recover(threadId: string, request: ResumeRequest): Promise<Controlled> {
    const { hash, load, orphans, place } = this.#parts;
    await this.#find(threadId);
    const bundle = await load();
    await this.#turns.alone(threadId, async () => {
      if (this.#live.has(threadId)) throw alreadyRunning(threadId);
      place.checkUnrestored({ hash, threadId });
      await this.#driveAgain(bundle, threadId, request, async (claim) => {
        const last = claim.steps.at(-1) ?? null;
        if (last?.role === WAIT) throw waiting(threadId, last);
        await place.recover(claim, request.env, bundle.descriptor);
        return request;
      });
    });
    return { threadId, ...orphans.report };
  }

  /**
   * Drives a thread that its store lists as runnable. `takeOver` fences its holder.
   * @throws WorkflowError `ALREADY_RUNNING`, `THREAD_ENDED`; the errors of `ThreadStore.claim` and of the bundle
   */
  async drive(threadId: string, { takeOver = false } = {}): Promise<void> {
    await this.#find(threadId);
    const bundle = await this.#parts.load();
    await this.#turns.alone(threadId, async () => {
      if (this.#live.has(threadId)) return;
      await this.#driveAgain(bundle, threadId, { takeOver }, () => ({ env: {} }));
    });
  }

  /** Wakes due threads. A thread that can't be woken is due again in a minute. */
  async wake(request: WakeRequest): Promise<WokenHere> {
    const { store, hash } = this.#parts;
    const bundle = await this.#parts.load();
    const now = system.clock.now();
    const done: WokenHere = { woken: [], failed: [], more: false };
    for (const [threadId, { engine }] of [...this.#live]) {
      const at = engine.status === "waiting" ? engine.wakesAt : null;
      if (at !== null && at <= now && (await engine.wake())) done.woken.push(threadId);
    }
    const limit = mostAtOnce + 1;
    const due = await store.runnable({ now, limit, hashes: [hash], onlyDue: true });
    done.more = due.length > mostAtOnce;
    for (const { threadId } of due.slice(0, mostAtOnce)) {
      try {
        if (await this.#wakeOne(bundle, threadId, request)) done.woken.push(threadId);
      } catch (error) {
        done.failed.push({ threadId, error: toErrorRecord(error) });
        await store.postpone({ hash, threadId }, now + wakeAgainMs);
      }
    }
    return done;
  }

  async #wakeOne(bundle: LoadedBundle, threadId: string, request: WakeRequest): Promise<boolean> {
    await this.#find(threadId);
    let woken: Promise<boolean> | undefined;
    await this.#turns.alone(threadId, async () => {
      // Another request may have started to drive the thread.
      if (this.#live.has(threadId)) return;
      const surroundings = (claim: Claim) =>
        isDue(claim, system.clock.now()) ? surroundingsFor(claim.start, request) : null;
      await this.#driveAgain(bundle, threadId, request, surroundings, ({ engine }) => {
        // Wake the thread now: the engine's own timer starts only now and would fire later.
        woken = engine.wake();
      });
    });
    return (await (woken ?? this.#live.get(threadId)?.engine.wake())) ?? false;
  }

  async pause(threadId: string): Promise<Controlled> {
    const live = await this.#find(threadId);
    const { store, hash, note } = this.#parts;
    const thread = await store.find(threadId);
    if (thread?.hash !== hash) throw notFound(threadId);
    if (!live) checkPausable(thread);
    await store.setPaused(thread, true);
    live?.engine.pause();
    note(threadId, false);
    return { threadId };
  }

  async kill(threadId: string): Promise<Controlled> {
    const { orphans } = this.#parts;
    const live = await this.#find(threadId);
    if (!live) await orphans.ended;
    const driven = live ?? (await this.#turns.alone(threadId, () => this.#end(threadId)));
    await driven?.engine.kill();
    return { threadId, ...(!live && orphans.report) };
  }

  /** Ends a thread that is not driven; returns the thread if another request now drives it. */
  async #end(threadId: string): Promise<Live | null> {
    const live = this.#live.get(threadId);
    if (live) return live;
    this.#checkOpen();
    await endClaimed(await claimOpen(this.#parts, threadId, {}));
    return null;
  }

  async answer(threadId: string, request: AnswerRequest): Promise<Controlled> {
    const { store, hash } = this.#parts;
    if (!(await this.#find(threadId))) {
      const there = await store.find(threadId);
      if (there?.hash !== hash) throw notFound(threadId);
      if (await hasTaken(store, { hash, threadId }, request.input)) return { threadId };
      const bundle = await this.#parts.load();
      await this.#turns.alone(threadId, async () => {
        if (this.#live.has(threadId)) return;
        await this.#driveAgain(bundle, threadId, request, (claim) => {
          if (claim.steps.at(-1)?.role === WAIT) return request;
          throw noteRefusal(claim, request);
        });
      });
    }
    await this.#live.get(threadId)?.engine.answer(request.input, request.question);
    this.#parts.onChange();
    return { threadId };
  }

  async remove(threadId: string, { force }: RemoveRequest): Promise<Controlled> {
    const { store, hash } = this.#parts;
    const live = await this.#find(threadId);
    if (live && !force) throw threadOpen(threadId, live.engine.status);
    await live?.engine.kill();
    await live?.gone;
    await this.#turns.alone(threadId, async () => {
      this.#checkOpen();
      if (!(await store.remove({ hash, threadId }))) throw notFound(threadId);
    });
    return { threadId };
  }

  /** Releases a thread that is not running, and records its move to another host. Idempotent. */
  async leave(threadId: string, { to }: LeaveRequest): Promise<Location> {
    const { hash, orphans, place } = this.#parts;
    await orphans.ended;
    return await this.#turns.alone(threadId, async () => {
      let isPaused = false;
      for (let live = this.#live.get(threadId); live; live = this.#live.get(threadId)) {
        const { over, status } = live.engine;
        if (!over && status === "running") throw movesNotRunning(threadId);
        isPaused ||= !over && status === "paused";
        if (!over) void live.engine.release();
        await live.gone;
      }
      await settleLog(this.#parts, threadId);
      return place.leave({ hash, threadId }, to, isPaused);
    });
  }

  /** Releases all threads. They can be resumed. */
  async release(): Promise<void> {
    this.#isReleased = true;
    await this.#turns.settled();
    const all = [...this.#live.values()];
    for (const { engine } of all) void engine.release();
    for (const { gone } of all) await gone;
  }

  /** A function that fails the thread of an uncaught error; null unless this worker has driven only one thread. */
  get failOnly(): ((thrown: unknown) => void) | null {
    return this.#live.get(this.#onlyDriven ?? "")?.fail ?? null;
  }

  /** Records an uncaught error in the debug log of every driven thread. */
  noteUncaught(thrown: unknown): void {
    const line = errorLine(errorOf(thrown, (error) => this.#parts.place.stacks.rewrite(error)));
    const content = `uncaught error in a thread of this worker: ${line}`;
    for (const { info } of this.#live.values()) info.log("R5DM7YB2", content);
  }

  /** Reads the journal of a claimed thread and drives it. @throws WorkflowError `LOG_CORRUPT` */
  async #drive(
    bundle: LoadedBundle,
    claim: Claim,
    surroundings: Driven,
    orphans: Pick<Controlled, "orphans">,
    onBegin: (live: Live) => void = () => undefined,
  ): Promise<void> {
    const live = await openLive(this.#parts, bundle, claim, surroundings);
    const { engine, info } = live;
    const { threadId } = claim.ref;
    live.gone = this.#settle(live, claim);
    const other = this.#onlyDriven !== undefined && this.#onlyDriven !== threadId;
    this.#onlyDriven = other ? null : threadId;
    this.#live.set(threadId, live);
    const payload = { pid: system.processes.pid, steps: claim.steps.length, ...orphans };
    info.begin({ tag: "E9K2TNWD", type: "worker_start", stepID: null, payload });
    if (claim.cut) info.noteCut(claim.cut);
    if (claim.thread.paused && !surroundings.goesOn) engine.pause();
    this.#parts.watcher?.began(live, claim);
    engine.start();
    onBegin(live);
    this.#parts.onChange();
  }

  async #settle({ engine, info }: Live, claim: Claim): Promise<void> {
    const { threadId } = claim.ref;
    const outcome = await engine.done;
    info.close();
    await claim.release();
    this.#live.delete(threadId);
    this.#parts.note(threadId, false);
    this.#parts.watcher?.gone(claim, outcome);
    this.#parts.onChange();
  }

  // Wait until the generator of an ended thread is closed: the thread must not change before that.
  async #find(threadId: string): Promise<Live | null> {
    const live = this.#live.get(threadId) ?? null;
    if (!live?.engine.over) return live;
    await live.gone;
    return this.#live.get(threadId) ?? null;
  }

  async #letGo(threadId: string, claim: Claim | null): Promise<void> {
    await claim?.release();
    this.#parts.note(threadId, false);
  }

  /**
   * Continues a thread from its log, in the surroundings that `surroundings` returns. Does not change the thread if
   * that function returns null or throws.
   */
  async #driveAgain(
    bundle: LoadedBundle,
    threadId: string,
    request: Pick<ClaimOptions, "durability" | "takeOver">,
    surroundings: (claim: Claim) => Driven | null | Promise<Driven | null>,
    onBegin?: (live: Live) => void,
  ): Promise<void> {
    const { store, hash, note, orphans } = this.#parts;
    // Record the thread first, so that a worker that waits for its disk does not count as stuck in its bundle.
    note(threadId, true);
    let claim: Claim | null = null;
    let isDriven = false;
    try {
      this.#checkOpen();
      claim = await claimOpen(this.#parts, threadId, request);
      const { sha256 } = bundle;
      const other = otherBundle(store.where(claim.ref, "data"), claim.start, { hash, sha256 });
      if (other) throw other;
      const own = await surroundings(claim);
      if (!own) return;
      await this.#drive(bundle, claim, own, orphans.report, onBegin);
      isDriven = true;
    } finally {
      if (!isDriven) await this.#letGo(threadId, claim);
    }
  }

  #checkOpen(): void {
    if (this.#isReleased) throw workerClosing();
  }
}
