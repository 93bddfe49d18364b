import { isWorkflowError } from "@uncaged/workflow";
import { type Lock, takeLock } from "@uncaged/workflow/internal";
import { mkdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { PlannerError } from "../error/error.ts";
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

/**
 * How the last turn of a session stands: one goes on, in this process or another; it was lost with its process; null
 * when it has ended.
 */
type TurnState = "at work" | "interrupted" | null;

/** A conversation as its user has it, as far as its turns have ended. */
type Conversation = {
  session: string;
  messages: PlannerMessage[];
  /** The plan that it has led to, while there is that. */
  workflow: string | null;
  turn: TurnState;
};

/** What a turn of a conversation came to; `workflow` is the plan as it is kept, when the turn made one. */
export type Turned = { session: string; turn: PlannerTurn; workflow: Workflow | null };

const lookMs = 20;

const inodeOf = (path: string): number | null =>
  statSync(path, { throwIfNoEntry: false })?.ino ?? null;

/**
 * Conversations whose plans are kept, for every channel: the command line, the server and the bots. Of all processes one
 * takes a turn in a session, or about a plan, at a time: another turn is refused, and nothing of either is lost.
 */
export class Planning {
  readonly #plans: Plans;
  readonly #planner: Planner;

  constructor(plans: Plans, planner: Planner) {
    this.#plans = plans;
    this.#planner = planner;
  }

  /** Begins with a request. @throws PlannerError, ExecutorError */
  start(request: string, callbacks?: StreamCallbacks): Promise<Turned> {
    return this.turn(newSession(), request, callbacks);
  }

  /** Goes on with an answer, or with what is to change of the plan. @throws PlannerError, ExecutorError */
  async answer(sessionId: string, text: string, callbacks?: StreamCallbacks): Promise<Turned> {
    return await this.turn(this.#planner.find(sessionId), text, callbacks);
  }

  /** Changes a plan, in the conversation that has made it where that is there. @throws PlannerError, ExecutorError */
  async modify(planId: string, text: string, callbacks?: StreamCallbacks): Promise<Turned> {
    return await this.turn(this.sessionAbout(planId), text, callbacks);
  }

  /** A conversation that has not begun. */
  newSession(): PlannerSession {
    return newSession();
  }

  /** The session with an id. @throws PlannerError */
  session(id: string): PlannerSession {
    return this.#planner.find(id);
  }

  /** What was said in a session. @throws PlannerError when there is none, and no turn of it either. */
  conversation(id: string): Conversation {
    const turn = isSessionId(id) ? this.#turnOf(id) : null;
    // The turn before its first end has no session yet.
    const kept = turn === null ? this.#planner.find(id) : this.#stored(id);
    const plan = kept?.workflow ? this.#known(kept.workflow.id) : null;
    return {
      ...{ session: id, workflow: plan?.id ?? null, turn },
      messages: kept ? transcriptOf(kept) : [],
    };
  }

  /** Of a turn whose process died its lock's file is left, which nobody holds. */
  #turnOf(id: string): TurnState {
    const path = this.#lockPath(id);
    const before = inodeOf(path);
    if (before === null) return null;
    const lock = takeLock(path, 0);
    if (!lock) return "at work";
    // The turn may have ended meanwhile, and taken the file away.
    const isOld = inodeOf(path) === before;
    if (!isOld) rmSync(path, { force: true });
    lock.release();
    return isOld ? "interrupted" : null;
  }

  #lockPath(id: string): string {
    return join(this.#plans.folder, `${id}.lock`);
  }

  /** The session in which a plan is changed. @throws ExecutorError */
  sessionAbout(planId: string): PlannerSession {
    const plan = this.#plans.get(planId);
    return this.#sessionOf(plan) ?? newSession(plan);
  }

  /** One turn of a session, whose plan is kept. @throws PlannerError, ExecutorError */
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

  /** Keeps other turns away; of a process that died nothing is left. @throws PlannerError when one goes on. */
  #lock(id: string): Lock {
    mkdirSync(this.#plans.folder, { recursive: true, mode: 0o700 });
    const path = this.#lockPath(id);
    // Who only looks how it stands holds it for a moment.
    const lock = takeLock(path, lookMs);
    if (!lock) {
      const hint = "wait until the planner has answered, and try again";
      throw new PlannerError(`the planner is at work on ${id} already`, { hint });
    }
    return {
      release() {
        rmSync(path, { force: true });
        lock.release();
      },
    };
  }

  /** The session of a plan, unless it is lost or was cancelled. */
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

  /** A plan may have been edited, confirmed or removed since its conversation. */
  #renew(session: PlannerSession): void {
    const { workflow } = session;
    if (workflow) session.workflow = this.#known(workflow.id) ?? workflow;
  }

  /** A session as it was kept; null before its first turn. */
  #stored(id: string): PlannerSession | null {
    try {
      return this.#planner.find(id);
    } catch {
      return null;
    }
  }

  /** A plan as it would be confirmed; null when it was removed. */
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
