import {
  type ForkOptions,
  isWorkflowError,
  type StartOptions,
  type Step,
  type ThreadRef,
  type ThreadStatus,
  type ThreadView,
} from "@uncaged/workflow/host";
import { keptSteps, terminalUser } from "@uncaged/workflow/internal";
import type { Session } from "../session/session.ts";
import { LiveThread, type OnRest } from "./live.ts";
import type { Report } from "./report.ts";

/** Properties shared by all threads of a `dev` session. */
export type DevThreads = {
  /** The name of the threads' workflow. */
  name: string;
  /** Options for a new thread. */
  start: Omit<StartOptions, "workflow" | "name">;
  /** Whether the first version starts a new thread even if threads exist. */
  isNew: boolean;
  /** Keeps all steps up to this role's last step, even if their source has changed. */
  fromRole?: string;
};

/** A fork for a version. Another fork with fewer steps needs `source`. */
type Made = { source: ThreadView; hash: string; kept: number };

/**
 * The thread of a `dev` session and its handover from version to version. Stops the previous thread and makes a fork
 * that keeps the steps before the first step with changed code. Operations run in sequence, and a new operation ends
 * the wait of the previous operation.
 */
export class Handover {
  readonly #session: Session;
  readonly #given: DevThreads;
  readonly #report: Report;
  readonly #onError: (error: unknown) => void;
  #isNew: boolean;
  #live: LiveThread | null = null;
  #turn: Promise<void> = Promise.resolve();
  #hurry = new AbortController();

  /** @param onError receives the error if a thread can no longer be shown */
  constructor(
    session: Session,
    given: DevThreads,
    report: Report,
    onError: (error: unknown) => void,
  ) {
    this.#onError = onError;
    this.#session = session;
    this.#given = given;
    this.#report = report;
    this.#isNew = given.isNew;
    report.onWrite = () => this.#live?.clear();
  }

  /** Continues the last thread with a version, or starts a new thread. */
  goOn(hash: string): Promise<void> {
    return this.#inTurn(async (signal) => {
      const view = this.#isNew ? null : await this.#last();
      if (view === null) await this.#start(hash);
      else if (view.hash === hash && view.status !== "killed") await this.#continue(view);
      else await this.#handOver(view, hash, signal);
      this.#isNew = false;
    });
  }

  /** Forks the last thread onto a version. `keep` returns the number of steps to keep. */
  repeat(hash: string, keep: (steps: number) => number): Promise<void> {
    return this.#inTurn(async () => {
      const view = await this.#last();
      if (!view) return await this.#start(hash);
      const stopped = await this.#stopped(view);
      await this.#fork({ source: stopped, hash, kept: keep(stopped.steps.length) }, null);
    });
  }

  /** The number of the open question of the shown thread; null if the thread does not wait. */
  get question(): number | null {
    return this.#live?.question ?? null;
  }

  /** Answers a question of the shown thread. */
  async answer(content: string, question: number): Promise<void> {
    const { env } = this.#given.start;
    const input = { content, by: terminalUser() };
    if (!this.#live) return;
    await this.#session.host.control(this.#live.ref, { kind: "answer", input, question, env });
  }

  /** Stops a running thread. Does not change a waiting thread. */
  end(): Promise<void> {
    return this.#inTurn(async () => {
      const view = this.#live && (await this.#last());
      await this.#live?.leave();
      if (view?.status !== "running" && view?.status !== "paused") return;
      await this.#stopped(view);
      const { threadId } = view;
      this.#report.note("stopped", { threadId }, `stopped ${threadId}; dev resumes it later`);
    });
  }

  #inTurn(act: (signal: AbortSignal) => Promise<void>): Promise<void> {
    this.#hurry.abort();
    this.#hurry = new AbortController();
    const { signal } = this.#hurry;
    const turn = this.#turn.then(() => (signal.aborted ? undefined : act(signal)));
    this.#turn = turn.catch(() => {});
    return turn;
  }

  /** Returns the newest thread, which may have been started or forked elsewhere. */
  async #last(): Promise<ThreadView | null> {
    const { host } = this.#session;
    const query = { workflow: this.#given.name, limit: 1, paged: false };
    const [row] = (await host.threads(query)).rows;
    return row ? await host.read(row) : null;
  }

  async #start(hash: string): Promise<void> {
    const { name, start } = this.#given;
    const thread = await this.#session.host.start({ ...start, workflow: hash, name });
    await this.#live?.leave();
    this.#report.started(thread);
    this.#show(thread, 0);
  }

  /** Shows a thread that already has this version. Resumes the thread if it does not run. */
  async #continue(view: ThreadView): Promise<void> {
    const { host } = this.#session;
    const { threadId, status, steps } = view;
    if (this.#live?.ref.threadId !== threadId) {
      await this.#live?.leave();
      this.#report.note("thread", { ...refOf(view), forkFrom: null }, `${threadId} continues`);
      this.#show(view, steps.length);
    }
    const { env } = this.#given.start;
    // A thread that pauses at its next step may still have the status "running".
    if (status === "interrupted" || status === "paused" || status === "running") {
      await host.control(view, { kind: "resume", env }).catch(ignore);
    }
  }

  async #handOver(view: ThreadView, hash: string, signal: AbortSignal): Promise<void> {
    const running = await this.#running(view);
    const asked = [...new Set([...view.steps.map(partOf), ...running])].filter(
      (role) => role !== "",
    );
    const changed = new Set(await this.#session.host.changedRoles([view.hash, hash], asked));
    const isKept = !view.steps.some((step) => changed.has(partOf(step)));
    const isWanted = running.length > 0 && !running.some((role) => changed.has(role));
    if (isKept && isWanted && !(await this.#letFinish(view, running, signal))) return;
    const source = await this.#stopped(view);
    const kept = Math.max(this.#pinned(source.steps), keptBefore(source.steps, changed));
    const first = source.steps[kept];
    await this.#fork({ source, hash, kept }, first ? partOf(first) : null);
  }

  /** Returns the roles of the running attempts without a parent. */
  async #running(view: ThreadView): Promise<string[]> {
    if (view.status !== "running") return [];
    const attempts = await this.#session.host.attempts(view);
    return attempts.flatMap(({ status, parent, role }) =>
      status === "running" && parent === null && role !== null ? [role] : [],
    );
  }

  /**
   * Waits until the running step is committed, because its calls already cost money and its code is unchanged. Returns
   * false if a new operation interrupts the wait.
   */
  async #letFinish(view: ThreadView, roles: string[], signal: AbortSignal): Promise<boolean> {
    const { host } = this.#session;
    const { threadId } = view;
    const names = roles.join(", ");
    const text = `${names} is running and has not changed: the new version takes over after it`;
    this.#report.note("waits", { threadId, roles }, text);
    await host.control(view, { kind: "pause" }).catch(ignore);
    for await (const item of host.observe(view, undefined, { signal, events: false })) {
      if (item.kind === "end" || item.kind === "removed") break;
      if (item.kind === "status" && item.state.status !== "running") break;
    }
    return !signal.aborted;
  }

  /** Returns the number of steps to keep because of `fromRole`; 0 without this role. */
  #pinned(steps: readonly Step[]): number {
    const { fromRole } = this.#given;
    try {
      return fromRole === undefined ? 0 : keptSteps(steps, { fromRole }).length;
    } catch {
      return 0;
    }
  }

  /** Returns the last state of the thread. Kills the thread if it has not ended. */
  async #stopped(view: ThreadView): Promise<ThreadView> {
    const { host } = this.#session;
    const { env } = this.#given.start;
    await this.#live?.leave();
    if (view.status === "running" || view.status === "paused" || view.status === "waiting") {
      try {
        await host.control(view, { kind: "kill" });
      } catch (error) {
        if (!isWorkflowError(error) || error.code !== "WORKER_SILENT") ignore(error);
        else {
          const { threadId } = view;
          const text = "the thread's worker does not answer and is ended";
          this.#report.note("stuck", { threadId }, text);
          await host.control(view, { kind: "kill", force: true, env });
        }
      }
    }
    return await host.read(view);
  }

  async #fork({ source, hash, kept }: Made, changed: string | null): Promise<void> {
    const { host } = this.#session;
    const { name, start } = this.#given;
    const { env, options, maxRounds, durability } = start;
    const given: ForkOptions = { env, options, maxRounds, durability, name, on: hash };
    const thread = await host.fork(source, { ...given, keep: { atStep: kept } });
    this.#report.forked(thread, source.steps.length, changed);
    this.#show(thread, kept, (state, steps) =>
      this.#hasDiverged(state, steps, { source, hash, kept }, thread),
    );
  }

  #show(thread: ThreadRef, kept: number, onRest: OnRest = () => false): void {
    this.#live = new LiveThread(this.#session, thread, kept, onRest);
    this.#live.done.catch(this.#onError);
  }

  /** Tells whether the version diverges from the kept steps. If so, starts another fork with fewer steps. */
  #hasDiverged(state: ThreadStatus, steps: number, made: Made, thread: ThreadRef): boolean {
    const isRefused = state.status === "failed" && state.error?.code === "DIVERGED";
    if (!isRefused || steps > made.kept || made.kept === 0) return false;
    const step = Number(/^step (\d+) of the log/.exec(state.result.summary)?.[1] ?? made.kept);
    const kept = Math.min(made.kept, step) - 1;
    const again = this.#inTurn(async () => {
      await this.#live?.leave();
      // Removing the fork loses nothing, because its source has all of its steps.
      await this.#session.host.remove(thread).catch(ignore);
      const role = made.source.steps[kept];
      await this.#fork({ ...made, kept }, role ? partOf(role) : null);
    });
    again.catch(this.#onError);
    return true;
  }
}

/**
 * Returns the part of the program that makes a step: the role of the step, for a question the role or step that asks,
 * and "" for a person's answer.
 */
function partOf({ role, meta }: Step): string {
  if (role === "__input__") return "";
  if (role !== "__wait__") return role;
  const named = [meta.role, meta.stepID, meta.for].find((name) => typeof name === "string");
  return meta.sleep === true || named === undefined ? "" : named;
}

/** Returns the number of steps before the first step of a changed part. */
function keptBefore(steps: readonly Step[], changed: ReadonlySet<string>): number {
  const first = steps.findIndex((step) => changed.has(partOf(step)));
  return first < 0 ? steps.length : first;
}

const refOf = ({ threadId, workflow, hash }: ThreadView) => ({ threadId, workflow, hash });

function ignore(error: unknown): void {
  // The request came too late: the thread has ended or continued.
  if (!isWorkflowError(error)) throw error;
}
