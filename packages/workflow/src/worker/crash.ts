import { messageOf } from "../contract/error.ts";
import { currentContext } from "./context.ts";
import type { Threads } from "./threads.ts";

/**
 * Fails the one thread that something uncaught belongs to, and no other. Bun keeps a timer's async
 * context for `uncaughtException` but none for `unhandledRejection`: a rejection then belongs to the
 * only thread that this worker has ever driven. When it has driven several it can't be told whose it
 * is, for one that has ended may have left it: it is noted in the debug log of each, and they go on.
 */
export function catchCrashes(threads: Threads): void {
  const onUncaught = (thrown: unknown) => {
    const fail = currentContext()?.fail ?? threads.failOnly;
    if (fail) fail(thrown);
    else
      threads.noteAll(
        "R5DM7YB2",
        `nobody caught, in one of this worker's threads: ${messageOf(thrown)}`,
      );
  };
  process.on("uncaughtException", onUncaught);
  process.on("unhandledRejection", onUncaught);
}
