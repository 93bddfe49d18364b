import type { AnswerRequest, Controlled } from "../control/control.ts";
import { answerRequest, startRequest } from "../control/requests.ts";
import { notWaiting } from "../engine/errors.ts";
import type { ThreadCommand, WorkerState } from "../host/host.ts";
import { checkAnswerer } from "../local/threads/answerer.ts";
import { definedEnv } from "../local/workers/surroundings.ts";
import { endedError, movedError, notFound } from "../record/errors.ts";
import type { LiveRow, ThreadRef, ThreadView } from "../record/thread.ts";
import { type Claim, FencedError, type ThreadInfo, type ThreadStore } from "../store/store.ts";
import { system } from "../system/system.ts";
import { answerClaimed } from "../worker/answer-claimed.ts";
import { hasTaken, newThread } from "../worker/create.ts";
import { alreadyRunning } from "../worker/errors.ts";
import { endClaimed } from "../worker/open.ts";
import { checkPausable, stillWaiting } from "../worker/refusal.ts";
import type { StoreActivity } from "./activity.ts";
import { type Commands, parsed, type UnsentStart } from "./commands.ts";
import { isMissing } from "./noted.ts";
import type { StoredThreads } from "./stored-threads.ts";
import type { StoredWorkflows } from "./stored-workflows.ts";

/**
 * Time in milliseconds for which a command waits for a claim whose holder is about to release it. A holder that takes
 * longer counts as stopped, and is fenced.
 */
const heldMs = 3_000;
const [firstWaitMs, longestWaitMs] = [5, 100];
/**
 * The lease of a command's claim, in milliseconds. After a crash of the command its thread stays claimed until then.
 */
const leaseMs = 10_000;

const commandOwner = "command ";
const claims = () => ({ owner: `${commandOwner}${system.processes.pid}`, leaseMs });

/** Starts and controls threads by writes to their store. Workers drive them, in this or another process. */
export class StoreCommands implements Commands {
  readonly #store: ThreadStore;
  readonly #threads: StoredThreads;
  readonly #workflows: StoredWorkflows;
  readonly #activity: StoreActivity;

  constructor(
    store: ThreadStore,
    threads: StoredThreads,
    workflows: StoredWorkflows,
    activity: StoreActivity,
  ) {
    this.#store = store;
    this.#threads = threads;
    this.#workflows = workflows;
    this.#activity = activity;
  }

  // Ignores the caller's environment: threads get the environment of their worker.
  async start(hash: string, given: UnsentStart): Promise<void> {
    const request = parsed(startRequest, { ...given, env: {} });
    const { bundle, ...facts } = await this.#workflows.facts(hash);
    const thread = await newThread(this.#store, hash, facts, request);
    const { lacksBundle = false } = await this.#store.create(thread);
    // Another host may have removed the bundle before the thread existed.
    if (lacksBundle) await this.#store.putBundle(bundle);
  }

  async control(ref: ThreadRef, command: ThreadCommand): Promise<Controlled> {
    const { threadId } = ref;
    switch (command.kind) {
      case "pause":
        await this.#pause(ref);
        break;
      case "resume":
        await this.#resume(ref);
        break;
      case "kill":
        await this.#kill(ref);
        return { threadId, resumed: [] } as Controlled;
      case "answer": {
        checkAnswerer();
        const { input, question, env } = command;
        const request = { input, question, env: definedEnv(env) };
        await this.#answer(ref, parsed(answerRequest, request));
      }
    }
    return { threadId };
  }

  async #pause(ref: ThreadRef): Promise<void> {
    const info = await this.#open(ref);
    if (info.state.kind === "waiting") checkPausable(info);
    const paused = await this.#store.setPaused(ref, true);
    if (!paused) throw notFound(ref.threadId);
    if (paused.state.kind === "ended") throw await this.#ended(ref);
  }

  async #resume(ref: ThreadRef): Promise<void> {
    const { threadId } = ref;
    const info = await this.#open(ref);
    if (info.paused) {
      await this.#store.setPaused(ref, false);
      return;
    }
    if (info.state.kind === "waiting") {
      const refusal = stillWaiting(threadId, (await this.#threads.read(ref)).steps);
      if (refusal) throw refusal;
    } else if (this.#activity.find(ref, info)) throw alreadyRunning(threadId);
    await this.#store.postpone(ref, 0);
  }

  async #kill(ref: ThreadRef): Promise<void> {
    const late = system.clock.elapsed() + heldMs;
    for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
      const info = await this.#open(ref);
      // Commands that fence each other would never finish.
      const isCommand = info.owner?.startsWith(commandOwner) ?? true;
      const isLate = system.clock.elapsed() >= late;
      if (await this.#acted(info, !isCommand || isLate, endClaimed)) return;
      await system.clock.sleep(waitMs);
    }
  }

  async #answer(ref: ThreadRef, request: AnswerRequest): Promise<void> {
    const late = system.clock.elapsed() + heldMs;
    for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
      const info = await this.#find(ref);
      if (info.state.kind !== "waiting") {
        if (await hasTaken(this.#store, ref, request.input)) return;
        throw info.state.kind === "ended" ? await this.#ended(ref) : notWaiting(ref.threadId);
      }
      const isLate = system.clock.elapsed() >= late;
      if (await this.#acted(info, isLate, (claim) => answerClaimed(claim, request))) return;
      await system.clock.sleep(waitMs);
    }
  }

  /**
   * Claims a thread, calls `act` and releases the claim. Returns false when another process holds or takes the claim.
   */
  async #acted(
    info: ThreadInfo,
    takeOver: boolean,
    act: (claim: Claim) => Promise<void>,
  ): Promise<boolean> {
    const claim = await this.#store.claim(info, { ...claims(), ...(takeOver && { takeOver }) });
    if (!claim) return false;
    try {
      if (claim.end) throw await this.#ended(info);
      await act(claim);
      return true;
    } catch (error) {
      if (error instanceof FencedError) return false;
      throw error;
    } finally {
      await claim.release();
    }
  }

  async remove(ref: ThreadRef): Promise<void> {
    if (!(await this.#store.remove(ref))) throw notFound(ref.threadId);
  }

  async live(): Promise<LiveRow[]> {
    const all = await this.#activity.active();
    const shown = all.filter(({ owner, paused }) => owner !== null || paused);
    const found = await this.#threads.rows(shown);
    const now = system.clock.now();
    const rows: LiveRow[] = [];
    for (const info of shown) {
      const row = found.get(info.threadId);
      const facts = this.#activity.find(info, info) ?? { status: "paused", pid: 0 };
      if (!row || !["running", "paused", "waiting"].includes(row.status)) continue;
      const { threadId, workflow, hash, steps, workedMs, waitedMs, createdAt, sleepingUntil } = row;
      const { status, pid, pausing } = facts;
      rows.push({
        ...{ threadId, workflow, hash, status, pid, steps, role: row.at.role },
        ...{ elapsedMs: Math.max(0, now - createdAt), workedMs, waitedMs },
        ...(sleepingUntil !== undefined && { sleepingUntil }),
        ...(pausing && { pausing }),
      });
    }
    return rows;
  }

  // The workers wake and recover threads.
  async wake() {
    return { woken: [], failed: [], next: null };
  }

  async recover() {
    return { resumed: [], left: [] };
  }

  /** Returns the bundles of claimed threads, each with its worker. */
  async workers(): Promise<WorkerState[]> {
    const found = new Map<string, WorkerState>();
    for (const info of await this.#activity.active()) {
      const { hash, owner } = info;
      const pid = this.#activity.find(info, info)?.pid ?? 0;
      if (owner !== null)
        found.set(`${hash} ${owner}`, { hash, state: "answers", pid, orphans: [] });
    }
    return [...found.values()];
  }

  async close(): Promise<void> {}

  /** Finds a thread on this host. @throws WorkflowError `THREAD_NOT_FOUND`, `THREAD_MOVED` */
  async #find({ hash, threadId }: ThreadRef): Promise<ThreadInfo> {
    const info = await this.#store.find(threadId);
    if (info?.hash !== hash) throw notFound(threadId);
    if (info.movedTo !== null) throw movedError(threadId, info.movedTo);
    return info;
  }

  /**
   * Finds an unfinished thread on this host. @throws WorkflowError `THREAD_NOT_FOUND`, `THREAD_MOVED`, `THREAD_ENDED`
   */
  async #open(ref: ThreadRef): Promise<ThreadInfo> {
    const info = await this.#find(ref);
    if (info.state.kind === "ended") throw await this.#ended(ref);
    return info;
  }

  /** Returns the error for a command to an ended thread. */
  async #ended(ref: ThreadRef): Promise<Error> {
    const view: ThreadView | null = await this.#threads.read(ref).catch((error: unknown) => {
      if (isMissing(error)) return null;
      throw error;
    });
    if (!view) return notFound(ref.threadId);
    return endedError(
      ref.threadId,
      "result" in view ? (view.result.reason ?? view.status) : "ended",
    );
  }
}
