import type { ErrorRecord } from "../contract/error.ts";
import type { Durability } from "../control/control.ts";
import type { ThreadRef } from "../record/thread.ts";
import type { Environment } from "../system/port.ts";

/** Options for woken threads. `env` is passed to their workflows and never written. */
export type WakeOptions = { env: Environment; durability?: Durability };

/**
 * The threads that this call woke; the due threads that could not be woken, which are retried in a minute; and the time
 * of the next due thread, in milliseconds since the epoch, or null.
 */
export type Woken = {
  woken: ThreadRef[];
  failed: (ThreadRef & { error: ErrorRecord })[];
  next: number | null;
};

/**
 * Options of a recovery. `dryRun` reports the threads without resuming them. `only` limits the call to these threads.
 */
export type RecoverOptions = WakeOptions & { dryRun?: boolean; only?: readonly string[] };

/**
 * The interrupted threads that this call resumed (or would resume), and the threads left to the user with the reason.
 * Neither list has threads that another call resumed in the meantime.
 */
export type Recovered = {
  resumed: (ThreadRef & { workflow: string })[];
  left: (ThreadRef & { workflow: string; reason: string })[];
};

/** A thread in the trash. `removedAt` is in milliseconds since the epoch. */
export type TrashedThread = ThreadRef & { workflow: string; prompt: string; removedAt: number };
