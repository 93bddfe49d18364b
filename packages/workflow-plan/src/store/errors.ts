import { ConfigError, ExecutorError } from "../error/error.ts";
import type { WorkflowPhase } from "../plan/plan.ts";

/* The errors of a plan home, its database, and the phases of its plans. */

export const homeNotMade = (home: string, code: string, cause: unknown): ConfigError =>
  new ConfigError(`the plan home ${home} can't be created: ${code}`, {
    hint: "set UNCAGED_PLAN_HOME to a folder of your own",
    cause,
  });

export const homeNotFolder = (home: string): ConfigError =>
  new ConfigError(`the plan home ${home} is not a folder`, {
    hint: "set UNCAGED_PLAN_HOME to a folder",
  });

export const homeWritable = (home: string): ConfigError =>
  new ConfigError(`the plan home ${home} can be written by other users`, {
    hint: `run: chmod 700 ${home}`,
  });

const owner = "check the owner and the mode of the file and its folder";
const full = ["can't grow: the disk is full", "free some space; committed data is safe"] as const;
const locked = ["is locked by another process", "try again later"] as const;

/** The problem and a hint, by the prefix of SQLite's error code. */
export const sqliteProblems: readonly (readonly [code: string, problem: string, hint: string])[] = [
  ["SQLITE_BUSY", ...locked],
  ["SQLITE_LOCKED", ...locked],
  ["SQLITE_READONLY", "can't be written", owner],
  ["SQLITE_CANTOPEN", "can't be opened", owner],
  ["SQLITE_PERM", "can't be opened", owner],
  ["SQLITE_FULL", ...full],
  // SQLite can't enlarge its files that processes share.
  ["SQLITE_IOERR_SHMSIZE", ...full],
  ["SQLITE_IOERR", "can't be read or written", "check the disk; committed data is safe"],
  ["SQLITE_CORRUPT", "is damaged", "restore it from a backup; plan rebuild restores its runs"],
  ["SQLITE_NOTADB", "is not a database", "restore it from a backup, or move it away"],
];

export const databaseFailed = (
  path: string,
  [, problem, hint]: (typeof sqliteProblems)[number],
  cause: unknown,
): ExecutorError => new ExecutorError(`${path} ${problem}`, { hint, cause });

/**
 * A database of another version. `version` is the version of the plans in the database, as JSON; `supported` is this
 * program's version.
 */
export const otherSchemaVersion = (
  path: string,
  version: string,
  supported: string,
): ExecutorError =>
  new ExecutorError(
    `${path} has plans of schema version ${version}; this program supports only ${supported}`,
    { hint: "use the program that wrote it" },
  );

const damaged = (id: string, problem: string): ExecutorError =>
  new ExecutorError(`the plan ${id} is damaged: ${problem}`, {
    hint: `restore plans.db from a backup, or delete the plan: uncaged-workflow plan delete ${id}`,
  });

export const columnNotJson = (id: string, column: string): ExecutorError =>
  damaged(id, `${column} is not valid JSON`);

/** A column with a value of another type. `type` is the expected type, such as "an object". */
export const columnType = (id: string, column: string, type: string): ExecutorError =>
  damaged(id, `${column} is not ${type}`);

/** Plans of a cluster that other processes changed at each of many attempts. */
export const plansBusy = (): ExecutorError =>
  new ExecutorError("the plans are being changed by other processes", { hint: "try again" });

export const noPlan = (id: string): ExecutorError =>
  new ExecutorError(`no plan ${JSON.stringify(id.slice(0, 100))} found`, {
    kind: "missing",
    hint: "list them: uncaged-workflow plan list",
  });

/** The hint of a refused transition, by the plan's phase. */
const remedies: Record<WorkflowPhase, string> = {
  planning: "finish its planning first",
  awaiting_confirmation: "confirm it first: uncaged-workflow plan confirm ID",
  active: "wait for its trigger, or run it now: uncaged-workflow plan run ID",
  executing: "wait for its run, or cancel it: uncaged-workflow plan cancel ID",
  paused: "resume it first: uncaged-workflow plan resume ID",
  completed: "run it again: uncaged-workflow plan run ID",
  failed: "retry it: uncaged-workflow plan retry ID",
};

/** A transition that the plan's phase does not allow. */
export const phaseError = (id: string, from: WorkflowPhase, to: WorkflowPhase): ExecutorError =>
  new ExecutorError(`${id} is ${from} and can't become ${to}`, {
    hint: remedies[from].replace("ID", id),
  });
