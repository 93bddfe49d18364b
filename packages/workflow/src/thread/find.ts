import { WorkflowError } from "../contract/error.ts";
import { show } from "../storage/names.ts";
import type { ThreadRef } from "./thread.ts";

const mostCandidates = 5;

/**
 * The thread that a text means: a whole id, a unique beginning or ending in any case, or `@last`, the newest.
 *
 * @throws WorkflowError `THREAD_NOT_FOUND` (missing), `THREAD_AMBIGUOUS` (usage).
 */
export function pickThread(threads: Iterable<ThreadRef>, text: string): ThreadRef {
  if (text === "@last") return newest(threads);
  const wanted = text.toUpperCase();
  const found = new Map<string, ThreadRef>();
  for (const thread of threads) {
    const { threadId } = thread;
    if (threadId === wanted) return thread;
    if (wanted === "") continue;
    if (threadId.startsWith(wanted) || threadId.endsWith(wanted)) found.set(threadId, thread);
  }
  const [only] = found.values();
  if (found.size === 1 && only) return only;
  throw found.size === 0 ? notFound(text) : ambiguous(text, [...found.keys()]);
}

function newest(threads: Iterable<ThreadRef>): ThreadRef {
  let last: ThreadRef | null = null;
  for (const thread of threads) if (!last || thread.threadId > last.threadId) last = thread;
  if (last) return last;
  throw notFound("@last");
}

/** The error that no thread has this id. */
export function notFound(text: string): WorkflowError {
  return new WorkflowError({
    code: "THREAD_NOT_FOUND",
    kind: "missing",
    message: text === "@last" ? "there is no thread yet" : `there is no thread ${show(text)}`,
    hint: "list them: uncaged-workflow threads",
  });
}

function ambiguous(text: string, ids: string[]): WorkflowError {
  const shown = ids.sort().slice(0, mostCandidates).join(", ");
  const more = ids.length > mostCandidates ? ` and ${ids.length - mostCandidates} more` : "";
  return new WorkflowError({
    code: "THREAD_AMBIGUOUS",
    kind: "usage",
    message: `${show(text)} means ${ids.length} threads`,
    hint: `give more of the id: ${shown}${more}`,
  });
}
