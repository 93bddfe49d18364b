import type { ErrorRecord } from "../contract/error.ts";
import type { Durability } from "../control/control.ts";
import type { ThreadRef } from "../record/thread.ts";
import type { Environment } from "../system/port.ts";

/** What the woken threads continue with; `env` reaches their workflows and is never written. */
export type WakeOptions = { env: Environment; durability?: Durability };

/**
 * The threads that this call has woken; those that are due and could not be, which are tried again in a minute;
 * and when the next is due, in milliseconds since the epoch, null when none sleeps.
 */
export type Woken = {
  woken: ThreadRef[];
  failed: (ThreadRef & { error: ErrorRecord })[];
  next: number | null;
};

/** `dryRun` only reports which threads would be resumed. With `only` no other threads are. */
export type RecoverOptions = WakeOptions & { dryRun?: boolean; only?: readonly string[] };

/**
 * The interrupted threads that this call has resumed, or would; those that are left to a person, and why. Threads that
 * another call has resumed meanwhile are in neither.
 */
export type Recovered = {
  resumed: (ThreadRef & { workflow: string })[];
  left: (ThreadRef & { workflow: string; reason: string })[];
};

/** A thread in the trash. `removedAt` is in milliseconds since the epoch. */
export type TrashedThread = ThreadRef & { workflow: string; prompt: string; removedAt: number };
