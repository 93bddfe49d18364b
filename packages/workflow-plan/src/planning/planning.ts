import { isWorkflowError } from "@uncaged/workflow";
import { type Lock, takeLock } from "@uncaged/workflow/internal";
import { mkdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import {
  isSessionId,
  newSession,
  type PlannerSession,
  type PlannerTurn,
} from "../planner/session.ts";
import { type PlannerMessage, transcriptOf } from "../planner/transcript.ts";
import type { Planner, StreamCallbacks } from "../planner/planner.ts";
import type { Workflow } from "../plan/plan.ts";
import type { Plans } from "../home/plans.ts";
import { plannerBusy } from "../planner/errors.ts";

/**
 * The state of a session's last turn: running in any process, lost with its process, or null after its end.
 */
type TurnState = "at work" | "interrupted" | null;

/** A conversation as its user sees it, up to the last ended turn. */
type Conversation = {
  session: string;
  messages: PlannerMessage[];
  /** The resulting plan, while it exists. */
  workflow: string | null;
  turn: TurnState;
};

/** The outcome of a turn; `workflow` is the stored plan if the turn made one. */
export type Turned = { session: string; turn: PlannerTurn; workflow: Workflow | null };

const lookMs = 20;

const inodeOf = (path: string): number | null =>
  statSync(path, { throwIfNoEntry: false })?.ino ?? null;

/**
 * Conversations whose plans are stored, for every channel: the command line, the server and the bots. Across all
 * processes, a session or a plan has one turn at a time. A second turn is refused without a loss of data.
 */
export class Planning {
  readonly #plans: Plans;
  readonly #planner: Planner;

  constructor(plans: Plans, planner: Planner) {
    this.#plans = plans;
    this.#planner = planner;
  }

  /**
   * Starts a session with a request.
   * @throws PlannerError, ExecutorError
   */
  start(request: string, callbacks?: StreamCallbacks): Promise<Turned> {
    return this.turn(newSession(), request, callbacks);
  }

  /** Continues a session with an answer, or with a change of the plan. @throws PlannerError, ExecutorError */
  async answer(sessionId: string, text: string, callbacks?: StreamCallbacks): Promise<Turned> {
    return await this.turn(this.#planner.find(sessionId), text, callbacks);
  }

  /**
   * Changes a plan, in the conversation that made it if that conversation still exists.
   * @throws PlannerError, ExecutorError
   */
  async modify(planId: string, text: string, callbacks?: StreamCallbacks): Promise<Turned> {
    return await this.turn(this.sessionAbout(planId), text, callbacks);
  }

  /** Returns a new session. */
  newSession(): PlannerSession {
    return newSession();
  }

  /** Returns the session with an id. @throws PlannerError */
  session(id: string): PlannerSession {
    return this.#planner.find(id);
  }

  /** Returns the messages of a session. @throws PlannerError if neither the session nor a turn of it exists. */
  conversation(id: string): Conversation {
    const turn = isSessionId(id) ? this.#turnOf(id) : null;
    // A session is stored only after its first turn has ended.
    const kept = turn === null ? this.#planner.find(id) : this.#stored(id);
    const plan = kept?.workflow ? this.#known(kept.workflow.id) : null;
    return {
      ...{ session: id, workflow: plan?.id ?? null, turn },
      messages: kept ? transcriptOf(kept) : [],
    };
  }

  /** Returns the state of a turn. A turn whose process died leaves an unlocked lock file. */
  #turnOf(id: string): TurnState {
    const path = this.#lockPath(id);
    const before = inodeOf(path);
    if (before === null) return null;
    const lock = takeLock(path, 0);
    if (!lock) return "at work";
    // The turn may have ended and removed the file.
    const isOld = inodeOf(path) === before;
    if (!isOld) rmSync(path, { force: true });
    lock.release();
    return isOld ? "interrupted" : null;
  }

  #lockPath(id: string): string {
    return join(this.#plans.folder, `${id}.lock`);
  }

  /** Returns the session in which a plan is changed. @throws ExecutorError */
  sessionAbout(planId: string): PlannerSession {
    const plan = this.#plans.get(planId);
    return this.#sessionOf(plan) ?? newSession(plan);
  }

  /** Runs one turn of a session and stores its plan. @throws PlannerError, ExecutorError */
  async turn(session: PlannerSession, text: string, callbacks?: StreamCallbacks): Promise<Turned> {
    const locks = [this.#lock(session.id)];
    try {
      Object.assign(session, this.#stored(session.id));
      if (session.workflow) locks.push(this.#lock(session.workflow.id));
      this.#renew(session);
      return await this.#keep(session, await this.#planner.answer(session, text, callbacks));
    } finally {
      for (const lock of locks) lock.release();
    }
  }

  /**
   * Locks a session against other turns. The lock of a dead process is released.
   * @throws PlannerError if a turn is running.
   */
  #lock(id: string): Lock {
    mkdirSync(this.#plans.folder, { recursive: true, mode: 0o700 });
    const path = this.#lockPath(id);
    // A query of the turn's state briefly holds the lock.
    const lock = takeLock(path, lookMs);
    if (!lock) {
      throw plannerBusy(id);
    }
    return {
      release() {
        rmSync(path, { force: true });
        lock.release();
      },
    };
  }

  /** Returns the session of a plan, unless the session is lost or was cancelled. */
  #sessionOf({ metadata }: Workflow): PlannerSession | null {
    const { draft, session } = (metadata ?? {}) as {
      draft?: { session: string };
      session?: string;
    };
    const id = draft?.session ?? session;
    try {
      const found = id === undefined ? null : this.#planner.find(id);
      return found?.status === "cancelled" ? null : found;
    } catch {
      return null;
    }
  }

  /** Updates the plan of a session, because the plan may have been edited, confirmed or removed. */
  #renew(session: PlannerSession): void {
    const { workflow } = session;
    if (workflow) session.workflow = this.#known(workflow.id) ?? workflow;
  }

  /** Returns a stored session; null before its first turn. */
  #stored(id: string): PlannerSession | null {
    try {
      return this.#planner.find(id);
    } catch {
      return null;
    }
  }

  /** Returns the plan that a confirmation would apply, or null if the plan was removed. */
  #known(id: string): Workflow | null {
    try {
      return this.#plans.draft(id) ?? this.#plans.get(id);
    } catch (error) {
      if (isWorkflowError(error) && error.kind === "missing") return null;
      throw error;
    }
  }

  async #keep({ id }: PlannerSession, turn: PlannerTurn): Promise<Turned> {
    const { workflow } = turn;
    if (!workflow) return { session: id, turn, workflow: null };
    if (!this.#known(workflow.id)) {
      const metadata = { ...workflow.metadata, session: id };
      const kept = await this.#plans.create({ ...workflow, metadata });
      return { session: id, turn: { ...turn, workflow: kept }, workflow: kept };
    }
    await this.#plans.replace(workflow, { session: id });
    const kept = this.#known(workflow.id) ?? workflow;
    return { session: id, turn: { ...turn, workflow: kept }, workflow: kept };
  }
}
