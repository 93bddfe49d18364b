import type { PauseRequest, Run } from "../context/run.ts";
import { RETURN } from "../document/document.ts";
import { toText } from "../expression/value.ts";
import { type Answered, answerKey } from "../state/state.ts";
import { resolveTarget } from "../document/target.ts";
import { type Done, renew, type Task } from "./interpreter.ts";

/** Asks a question, unless the log already has its answer, then writes the answer. */
export async function runPause(task: Task): Promise<Done> {
  const { chain, context, interpreter, step, turn } = task;
  const { answers } = interpreter.run.state;
  const key = answerKey(step.id, chain.path);
  const recorded = answers.get(key);
  answers.delete(key);
  const answered = recorded ?? (await turn.wait(() => ask(task)));
  const moment = new Date().toISOString();
  const timeout = timeoutOf(task);
  if (answered.timedOut && timeout) {
    const payload = { nodeId: step.id, expiredAt: moment, timeoutAction: timeout.on };
    context.emit("pause_timeout", step.id, payload);
    return { next: timeout.on };
  }
  const target = resolveTarget(String(step.resumeResultTarget), context.scope);
  if (target.kind === "variable") context.set(target.path, answered.payload, step.id);
  const { requestId = null } = answered;
  context.emit("pause_resumed", step.id, { nodeId: step.id, requestId, resumedAt: moment });
  return {};
}

async function ask(task: Task): Promise<Answered> {
  const { attempt, chain, context, interpreter, step } = task;
  const { run } = interpreter;
  chain.signal.throwIfAborted();
  const timeout = timeoutOf(task);
  const form = run.workflow.registry.formOf(String(step.resumeResultTarget));
  const wait: PauseRequest = {
    stepID: step.id,
    path: [...chain.path],
    token: newToken(),
    reason: reasonOf(task),
    ...(form && { form }),
    ...(timeout && { expiresAt: Date.now() + timeout.sec * 1000, onTimeout: timeout.on }),
  };
  const { token, reason, expiresAt } = wait;
  const expireAt = expiresAt === undefined ? null : new Date(expiresAt).toISOString();
  const payload = { nodeId: step.id, waitToken: token, reason, expireAt };
  const event = run.eventOf("pause_start", step.id, payload, context.origin);
  const item = { kind: "wait" as const, wait, event, attempt: attempt.id };
  const answered = await waiting(run, wait, () => run.scheduler.ask(item));
  // The question ends its attempt, so that no attempt includes the waiting time.
  renew(task);
  return answered;
}

/** Marks a run as paused while it waits. */
export async function waiting<T>(
  run: Run,
  { stepID, token }: PauseRequest,
  answered: () => Promise<T>,
): Promise<T> {
  run.status = "paused";
  run.currentStepID = stepID;
  run.paused = { nodeID: stepID, token };
  try {
    return await answered();
  } finally {
    run.paused = null;
    if (run.status === "paused") run.status = "running";
  }
}

const timeoutOf = ({ step }: Task) => (typeof step.timeout === "object" ? step.timeout : null);

const reasonOf = ({ context, step }: Task): string | null =>
  step.reason === undefined ? null : toText(context.evaluate(step.reason));

/** Returns the result of a Stop. The run ends when the step is committed. */
export const stop = (task: Task): Done => ({ next: RETURN, stop: { reason: reasonOf(task) } });

// 128 random bits, so that the token can't be guessed.
const newToken = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
