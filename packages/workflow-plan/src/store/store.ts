import { waitForLock } from "@uncaged/workflow/internal";
import { join } from "node:path";
import type { PlanDatabase } from "./database.ts";

/** What processes do one after the other: start and pause threads; look at triggers. */
export type StoreLock = "runs" | "triggers";

export type HeldLock = { release(): void | Promise<void> };

/**
 * Where the plans of a home are kept. All processes that have it open see each other's changes; each change is one
 * transaction, made of what all others have committed before.
 */
export type PlanStore = {
  /** What is read. It is written in {@link change} alone. */
  readonly database: PlanDatabase;
  /** Whether what is written stays. */
  readonly isKept: boolean;
  /** Whether the runs' threads are driven on other machines, with homes of their own. */
  readonly isShared: boolean;
  /** Has what others have committed by now in the database. */
  sync(): Promise<void>;
  /** Commits all changes of a function, or none. It is called again when somebody else has changed something meanwhile. */
  change<Result>(act: () => Result): Promise<Result>;
  /** Takes a lock as soon as nobody has it. `onWait` is called while somebody does, and ends that by throwing. */
  lock(name: StoreLock, onWait: () => void): Promise<HeldLock>;
  /** Another text than before: the database has changed. */
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
