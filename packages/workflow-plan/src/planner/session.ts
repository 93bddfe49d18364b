import type { Block, Message, ToolResult } from "@uncaged/workflow-agents";
import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { nanoid } from "nanoid";
import type { Workflow } from "../plan/plan.ts";
import { prefixes } from "../plan/terms.ts";
import { invalidSessionId, noSession, notSession } from "./errors.ts";

/** A conversation that leads to a plan. */
export type PlannerSession = {
  /** `ps_…` */
  id: string;
  messages: Message[];
  status: "conversing" | "plan_ready" | "cancelled";
  /** The plan. During a modification, the previous version. */
  workflow: Workflow | null;
};

/** The outcome of a planner's turn: the question, the plan's summary, a text, or an error. */
export type PlannerTurn = {
  type: "question" | "plan" | "text" | "error";
  content: string;
  /** The user has stopped the turn. */
  stopped?: true;
  /** The plan, if the outcome is a plan. */
  workflow?: Workflow;
};

export const newSession = (workflow: Workflow | null = null): PlannerSession => ({
  id: prefixes.session + nanoid(),
  messages: [],
  status: "conversing",
  workflow,
});

/** Adds blocks for the model to the user's last message if the model has not answered it, else in a new message. */
export function addToUser(session: PlannerSession, blocks: readonly Block[]): void {
  const last = session.messages.at(-1);
  if (last?.role === "user" && Array.isArray(last.content)) last.content.push(...blocks);
  else session.messages.push({ role: "user", content: [...blocks] });
}

export const resultBlock = (result: ToolResult): Block => ({ type: "tool_result", ...result });

/** Tells whether a text can be a session's id. The id becomes a part of a path. */
export const isSessionId = (id: string): boolean => /^ps_[\w-]{1,100}$/.test(id);

/** The sessions in a folder: one file each, which only its owner can read. */
export class SessionFiles {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Writes a temporary file and renames it: a reader sees the whole session from before or after the change. */
  write(session: PlannerSession): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const path = this.#pathOf(session.id);
    const aside = `${path}.${randomBytes(6).toString("hex")}`;
    try {
      writeFileSync(aside, `${JSON.stringify(session)}\n`, { mode: 0o600, flush: true });
      renameSync(aside, path);
    } catch (error) {
      rmSync(aside, { force: true });
      throw error;
    }
  }

  /**
   * Reads a session.
   * @throws PlannerError if the session is missing or unreadable.
   */
  read(id: string): PlannerSession {
    const path = this.#pathOf(id);
    let text: string;
    try {
      text = readFileSync(path, "utf8");
    } catch (cause) {
      throw noSession(id, cause);
    }
    try {
      const session = JSON.parse(text) as PlannerSession;
      if (session.id === id && Array.isArray(session.messages)) return session;
    } catch {
      // The error below reports it.
    }
    throw notSession(path);
  }

  /** Tells whether a session was cancelled; false for a session that was never written. */
  isCancelled(id: string): boolean {
    try {
      return this.read(id).status === "cancelled";
    } catch {
      return false;
    }
  }

  #pathOf(id: string): string {
    if (isSessionId(id)) return join(this.#folder, `${id}.json`);
    throw invalidSessionId(id);
  }
}
