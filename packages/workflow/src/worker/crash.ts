import { messageOf } from "../contract/error.ts";
import { currentContext } from "./context.ts";
import type { Threads } from "./threads.ts";

/**
 * Fails the one thread that something uncaught belongs to, and no other. Bun keeps a timer's async
 * context for `uncaughtException` but none for `unhandledRejection`: a rejection belongs to the only
 * thread that runs, and when several run it can't be told whose it is; it then stands in the worker's
 * log, and a thread that waits for it can be killed.
 */
export function catchCrashes(threads: Threads): void {
  const onUncaught = (thrown: unknown) => {
    const fail = currentContext()?.fail ?? threads.onlyRunning();
    console.error(
      `${fail ? "uncaught" : "uncaught, of a thread that can't be told"}: ${messageOf(thrown)}`,
    );
    fail?.(thrown);
  };
  process.on("uncaughtException", onUncaught);
  process.on("unhandledRejection", onUncaught);
}
