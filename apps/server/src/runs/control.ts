import {
  isWorkflowError,
  killThread,
  pauseThread,
  readThread,
  resumeThread,
  type ThreadRef,
  WorkflowError,
} from "@uncaged/workflow/host";
import type { z } from "zod";
import type { Context } from "../routes/context.ts";
import type { resumeRunBody } from "../shape/run.ts";

type Answer = z.infer<typeof resumeRunBody>;

/**
 * Answers the Pause that a run waits at; or, without an answer, lets one go on that was paused from
 * outside.
 *
 * @throws WorkflowError `NO_ANSWER_TOKEN` (usage), and those of `resumeThread`.
 */
export async function resumeRun(
  { root, env }: Context,
  ref: ThreadRef,
  { token, payload = null, requestId }: Answer,
): Promise<void> {
  if (token === undefined) {
    const { status } = await readThread(root, ref);
    const isHeld = status === "paused" || status === "interrupted";
    if (!isHeld || payload !== null) throw noToken();
    await resumeThread(root, ref, { env });
    return;
  }
  const content = typeof payload === "string" ? payload : JSON.stringify(payload);
  const meta = { token, ...(requestId !== undefined && { requestId }) };
  await resumeThread(root, ref, { env, input: { content, value: payload, meta } });
}

/** Ends a run; without effect on one that has ended. */
export const abortRun = ({ root, env }: Context, ref: ThreadRef): Promise<void> =>
  unless(["THREAD_ENDED"], killThread(root, ref, { env }));

/** Holds a run before its next step; without effect on one that has ended, waits, or is not driven. */
export const pauseRun = ({ root }: Context, ref: ThreadRef): Promise<void> =>
  unless(["THREAD_ENDED", "NOT_RUNNING"], pauseThread(root, ref));

async function unless(codes: string[], done: Promise<unknown>): Promise<void> {
  try {
    await done;
  } catch (error) {
    if (!isWorkflowError(error) || !codes.includes(error.code)) throw error;
  }
}

function noToken(): WorkflowError {
  return new WorkflowError({
    code: "NO_ANSWER_TOKEN",
    kind: "usage",
    message: "there is no token",
    hint: 'send {"token", "payload"}: the token stands in the event pause_start, and in the status',
  });
}
