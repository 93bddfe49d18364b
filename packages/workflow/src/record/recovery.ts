/*
 * Decides which interrupted threads may be resumed automatically: threads that ran recently, in this storage root, when
 * their worker was lost, and whose environment is complete. A person must resume all other threads. Pure functions.
 */
import { isDevName } from "../contract/names.ts";
import type { Step } from "../contract/contract.ts";
import type { StartRecord } from "./record.ts";

/** An interrupted thread, by its log, and whether it is paused. */
export type Interrupted = { start: StartRecord; steps: readonly Step[]; paused: boolean };

/** Facts about an interrupted thread from outside its log. */
export type RecoveryFacts = {
  descriptor: object;
  /** Whether the thread has moved between hosts. */
  hasMoved: boolean;
  /** Number of automatic resumes since the thread's last step. */
  tries: number;
};

/** Place of a resume: the mark of the storage root (null if it has none), and the environment of threads. */
export type RecoveryPlace = {
  now: number;
  root: string | null;
  env: Readonly<Record<string, string>>;
};

/** Limit of automatic resumes without a new step. */
export const mostTries = 3;
const longestMs = 24 * 60 * 60 * 1000;

/** Variables of a shell, a terminal or a login. They differ in a service, and workflows do not depend on them. */
const ofSession =
  /^(_|SHLVL|PWD|OLDPWD|LINES|COLUMNS|TERM|TERM_.*|COLORTERM|TMUX.*|STY|WINDOWID|SSH_.*|XDG_SESSION_.*|XDG_VTNR|XDG_SEAT|INVOCATION_ID|JOURNAL_STREAM|SYSTEMD_EXEC_PID|npm_.*|INIT_CWD|UNCAGED_WORKFLOW_IDLE_MS|UNCAGED_WORKFLOW_WORKER)$/;

/** Returns the sorted names of the environment variables that a thread depends on. */
export const envNames = (env: Readonly<Record<string, string>>): string[] =>
  Object.keys(env)
    .filter((name) => !ofSession.test(name))
    .sort();

/** Returns the reason why a thread is not resumed automatically; null when it may be. */
export function leftBecause(
  { start, steps, paused }: Interrupted,
  { descriptor, hasMoved, tries }: RecoveryFacts,
  { now, root, env }: RecoveryPlace,
): string | null {
  const { startedIn, name, timestamp } = start;
  if (paused) return "it is paused";
  if ("agentGraph" in descriptor) return "agent graphs are not resumed automatically";
  if ("plan" in descriptor) return "its plan resumes it";
  if (isDevName(name)) return "dev resumes it";
  if (!startedIn) return "an earlier version started it";
  if (root === null || startedIn.root !== root) {
    return "another storage root started it, or this one is a copy";
  }
  if (hasMoved) return "it has moved between hosts";
  const last = Math.max(timestamp, steps.at(-1)?.timestamp ?? 0);
  if (Math.abs(now - last) >= longestMs) return "its last record is older than 24 hours";
  const missing = startedIn.env.filter((one) => !Object.hasOwn(env, one));
  if (missing.length > 0) return `missing environment variables: ${missing.join(", ")}`;
  if (tries >= mostTries) return `it was resumed ${mostTries} times without a new step`;
  return null;
}
