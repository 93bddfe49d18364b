import { toErrorRecord } from "../contract/error.ts";
import type { Controlled } from "../control/control.ts";
import { answerRequest, resumeRequest, startRequest, wakeRequest } from "../control/requests.ts";
import type { Recovered, ThreadCommand, WakeOptions, WorkerState, Woken } from "../host/host.ts";
import { definedEnv, envsOf, folderIn, surroundingsIn } from "../local/workers/surroundings.ts";
import { endedError, movedError } from "../record/errors.ts";
import type { LiveRow, ThreadRef } from "../record/thread.ts";
import type { ThreadStore } from "../store/store.ts";
import type { Environment } from "../system/port.ts";
import { system } from "../system/system.ts";
import { type Caller, type Commands, parsed, type UnsentStart } from "./commands.ts";
import type { Drivers } from "./drivers.ts";
import type { StoredThreads } from "./stored-threads.ts";

/** Interval of the search for due threads, in milliseconds. */
const wakeEveryMs = 1_000;
const most = Number.MAX_SAFE_INTEGER;

/** Starts and controls threads that this process drives. */
export class OwnCommands implements Commands {
  readonly #store: ThreadStore;
  readonly #threads: StoredThreads;
  readonly #drivers: Drivers;
  readonly #env: Environment;
  #isClosed = false;
  #stopWaking = (): void => undefined;

  /** @param env The environment of due threads that continue. */
  constructor(store: ThreadStore, threads: StoredThreads, drivers: Drivers, env: Environment) {
    this.#store = store;
    this.#threads = threads;
    this.#drivers = drivers;
    this.#env = env;
    this.#scheduleWake();
  }

  async start(hash: string, request: UnsentStart, { folder, env }: Caller): Promise<void> {
    const surroundings = await surroundingsIn(folder, env);
    await this.#drivers.of(hash).start(parsed(startRequest, { ...request, ...surroundings }));
  }

  async control(ref: ThreadRef, command: ThreadCommand): Promise<Controlled> {
    const { hash, threadId } = ref;
    const view = await this.#threads.read(ref);
    if (view.movedTo !== undefined) throw movedError(threadId, view.movedTo);
    const driven = this.#drivers.of(hash);
    if (command.kind === "kill")
      return { ...(await driven.kill(threadId)), resumed: [] } as Controlled;
    if (command.kind === "pause") {
      if ("result" in view) throw endedError(threadId, view.result.reason ?? view.status);
      return await driven.pause(threadId);
    }
    const folder = folderIn(await this.#threads.start(ref));
    const surroundings = await surroundingsIn(folder, command.env);
    const { durability } = command;
    if (command.kind === "resume") {
      return await driven.resume(threadId, parsed(resumeRequest, { ...surroundings, durability }));
    }
    const { question } = command;
    const request = { ...surroundings, durability, input: command.input, question };
    return await driven.answer(threadId, parsed(answerRequest, request));
  }

  async remove({ hash, threadId }: ThreadRef, force: boolean): Promise<void> {
    await this.#drivers.of(hash).remove(threadId, { force });
  }

  async live(): Promise<LiveRow[]> {
    return this.#drivers.live();
  }

  async wake({ env: given, durability }: WakeOptions): Promise<Woken> {
    const done: Woken = { woken: [], failed: [], next: null };
    const now = system.clock.now();
    const store = this.#store;
    const due = await store.runnable({ now, limit: most, onlyDue: true });
    const own = definedEnv(given);
    const starts = await Promise.all(due.map((ref) => this.#threads.start(ref)));
    const folders = await envsOf(starts.map(folderIn), own);
    const body = parsed(wakeRequest, { env: own, durability, folders });
    const hashes = new Set([...due, ...this.#drivers.live()].map(({ hash }) => hash));
    for (const hash of hashes) {
      try {
        for (let more = true; more; ) {
          const found = await this.#drivers.of(hash).wake(body);
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
    const dueAts: number[] = [];
    for (const { state } of await this.#threads.all()) {
      if (state.kind === "waiting" && state.dueAt !== null) dueAts.push(state.dueAt);
    }
    return { ...done, next: dueAts.length > 0 ? Math.min(...dueAts) : null };
  }

  async recover(): Promise<Recovered> {
    const query = { status: ["interrupted", "paused"] as const, limit: most };
    const { rows } = await this.#threads.page(query, null);
    const isDriven = new Set(this.#drivers.live().map(({ threadId }) => threadId));
    const reason = "its store does not show whether another process drives it";
    const left = rows
      .filter(({ threadId }) => !isDriven.has(threadId))
      .map(({ hash, threadId, workflow }) => ({ hash, threadId, workflow, reason }));
    return { resumed: [], left };
  }

  async workers(): Promise<WorkerState[]> {
    const { pid } = system.processes;
    const hashes = new Set(this.#drivers.live().map(({ hash }) => hash));
    return [...hashes].map((hash) => ({ hash, state: "answers" as const, pid, orphans: [] }));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopWaking();
    await this.#drivers.close();
  }

  #scheduleWake(): void {
    this.#stopWaking = system.clock.after(wakeEveryMs, () => {
      // Ignore errors: a thread that could not be woken is due again in a minute.
      void this.wake({ env: this.#env })
        .catch(() => undefined)
        .then(() => this.#isClosed || this.#scheduleWake());
    });
  }
}
