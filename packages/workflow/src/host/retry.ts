import { WorkflowError } from "../contract/error.ts";
import type { ThreadView } from "../thread/thread.ts";
import type { ForkOptions } from "./host.ts";

/**
 * The fork that retries a thread which failed, was killed or ran out of rounds: it keeps every step.
 *
 * @throws WorkflowError `NOTHING_TO_RETRY` when it did not end so.
 */
export function retryOptions(source: ThreadView, options: Omit<ForkOptions, "keep">): ForkOptions {
  const { steps, status, maxRounds } = source;
  const more = (options.maxRounds ?? 0) > maxRounds;
  if (status === "failed" || status === "killed" || (status === "completed" && more)) {
    return { ...options, keep: { atStep: steps.length } };
  }
  throw nothingToRetry(source);
}

function nothingToRetry({ threadId, status, steps, maxRounds }: ThreadView): WorkflowError {
  const hints: Partial<Record<typeof status, string>> = {
    ...(steps.length >= maxRounds && {
      completed: `it ran out of rounds; give it more than ${maxRounds}: --max-rounds N`,
    }),
    interrupted: `take it up: uncaged-workflow resume ${threadId}`,
    paused: `let it go on: uncaged-workflow resume ${threadId}`,
    waiting: `answer it: uncaged-workflow resume ${threadId} --input TEXT`,
    running: `stop it first: uncaged-workflow kill ${threadId}`,
  };
  return new WorkflowError({
    code: "NOTHING_TO_RETRY",
    kind: "failed",
    message: `${threadId} is ${status}: there is nothing to retry`,
    hint: hints[status] ?? `fork it: uncaged-workflow fork ${threadId}`,
  });
}
