import { waitForLock } from "@uncaged/workflow/internal";
import { join } from "node:path";
import type { PlanDatabase } from "./database.ts";

/** Work that only one process may do at a time: start and pause threads; check triggers. */
export type StoreLock = "runs" | "triggers";

export type HeldLock = { release(): void | Promise<void> };

/**
 * The storage of a home's plans. All processes that have it open see each other's changes. Each change is one
 * transaction on top of all earlier commits.
 */
export type PlanStore = {
  /** The database for reading. Only {@link change} writes it. */
  readonly database: PlanDatabase;
  /** Whether writes persist. */
  readonly isKept: boolean;
  /** Whether other machines drive the runs' threads, with separate homes. */
  readonly isShared: boolean;
  /** Loads the commits of other processes into the database. */
  sync(): Promise<void>;
  /**
   * Commits all changes of a function, or none. Calls the function again if another process has changed the rows since
   * the first call.
   */
  change<Result>(act: () => Result): Promise<Result>;
  /**
   * Acquires a lock. Calls `onWait` repeatedly while another process holds the lock; `onWait` ends the wait by
   * throwing.
   */
  lock(name: StoreLock, onWait: () => void): Promise<HeldLock>;
  /** Returns a text that changes with the database. */
  changeCounter(): string;
  close(): void;
};

/** The plans in a file of their home, which all processes of a machine share. */
export const fileStore = (home: string, database: PlanDatabase): PlanStore => ({
  database,
  isKept: database.isFile,
  isShared: false,
  sync: async () => undefined,
  change: async (act) => database.atOnce(act),
  lock: (name, onWait) => waitForLock(join(home, `${name}.lock`), onWait),
  changeCounter: () => database.changeCounter(),
  close: () => database.close(),
});
