import type { Fixture } from "../contract/fixture.ts";
import { isWorkflowError, type WorkflowError } from "../contract/error.ts";
import type { TestAnswer } from "../control/test-answer.ts";
import type { ThreadRef, ThreadView } from "../record/thread.ts";
import type { Environment } from "../system/port.ts";
import { givenInput, recordedInput } from "./fixture.ts";
import type { Host } from "./host.ts";
import { follow } from "./rules.ts";

/** Answers to a thread's questions: a list, or the answers of a recorded thread. */
export type GivenAnswers = { answers?: readonly TestAnswer[]; fixture?: Fixture };

/**
 * The result of {@link drivenToEnd}. `durationMs` is null when the thread did not end. `refusal` is the error for an
 * answer that does not fit the question.
 */
export type DrivenThread = {
  view: ThreadView;
  durationMs: number | null;
  refusal?: WorkflowError;
};

/**
 * Follows a thread until it ends, or until this process can't continue the thread. Answers its questions, and resumes an
 * interrupted thread once. Returns null if the signal was aborted.
 */
export async function drivenToEnd(
  host: Host,
  ref: ThreadRef,
  { env, signal, answers = [], fixture }: GivenAnswers & { env: Environment; signal: AbortSignal },
): Promise<DrivenThread | null> {
  let isResumed = false;
  for (;;) {
    let endedAt: number | null = null;
    for await (const item of follow(host, ref, { events: false, signal })) {
      if (item.kind === "end") endedAt = item.end.timestamp;
    }
    if (signal.aborted) return null;
    const view = await host.read(ref);
    const isWaiting = view.status === "waiting";
    const input = isWaiting
      ? (givenInput(answers, view.steps) ?? (fixture && recordedInput(fixture, view.steps)))
      : null;
    if (input) {
      const refusal = await refusalOf(host.control(ref, { kind: "answer", input, env }));
      // This version may ask another question than the recorded version.
      if (refusal && otherQuestion.has(refusal.code)) return { view, durationMs: null, refusal };
      if (refusal) throw refusal;
    } else if (view.status === "interrupted" && !isResumed) {
      isResumed = true;
      // Another process may have resumed the thread first.
      await refusalOf(host.control(ref, { kind: "resume", env }));
    } else {
      return { view, durationMs: endedAt === null ? null : endedAt - view.createdAt };
    }
  }
}

/** Error codes for an answer that does not fit the question. */
const otherQuestion: ReadonlySet<string> = new Set(["ANSWER_INVALID", "NOT_A_DECISION"]);

/** Returns the `WorkflowError` that refused a command, or null if the command was accepted. Rethrows other errors. */
async function refusalOf(done: Promise<unknown>): Promise<WorkflowError | null> {
  try {
    await done;
    return null;
  } catch (error) {
    if (isWorkflowError(error)) return error;
    throw error;
  }
}
