import type { AnsweredBy, Environment, Host, ThreadRef } from "@uncaged/workflow/host";
import { type Decision, decisions, threadIdOf } from "../plan/terms.ts";
import type { FailureQuestion } from "../state/record.ts";
import type { RunRef } from "../store/last-run.ts";
import { findThread } from "./thread-log.ts";
import { noDecision, notDecision, otherStep, staleDecision } from "./errors.ts";

/** A decision about a failed step that a run waits for. */
export type Wanted = {
  workflowId: string;
  runId: string;
  threadId: string;
  stepId: string;
  error: string;
  /** The question's token. An answer with the token does not apply to another question. */
  token: string;
  /** The time when the question times out, in milliseconds since the epoch; null without a timeout. */
  expiresAt: number | null;
};

/** The user who decides, and the step or the exact question of the answer. */
export type DecisionOptions = { by?: AnsweredBy; stepId?: string; token?: string };

/** Returns the question that a run waits for, or null. */
export async function wantedBy(
  host: Host,
  run: RunRef,
): Promise<(Wanted & { ref: ThreadRef }) | null> {
  const ref = await findThread(host, threadIdOf(run.id));
  if (!ref) return null;
  const view = await host.read(ref);
  if (view.status !== "waiting" || view.question.meta.for !== "step_failure") return null;
  const { error, expiresAt = null, stepId, token } = view.question.meta as FailureQuestion;
  return {
    ...{ ref, workflowId: run.workflow_id, runId: run.id, threadId: view.threadId },
    ...{ stepId, error, token, expiresAt },
  };
}

/** Answers the question of a run. @throws ExecutorError, and the engine's errors for a refused answer. */
export async function decide(
  host: Host,
  run: RunRef,
  decision: Decision,
  { by, env, stepId, token: asked }: DecisionOptions & { env: Environment },
): Promise<Pick<Wanted, "workflowId" | "runId" | "stepId"> & { decision: Decision }> {
  const wanted = await wantedBy(host, run);
  if (wanted === null) throw noDecision(run.id);
  if (stepId !== undefined && stepId !== wanted.stepId) {
    throw otherStep(run.id, wanted.stepId, stepId);
  }
  const { ref, token, workflowId, runId } = wanted;
  if (asked !== undefined && asked !== token) throw staleDecision(runId);
  const input = { content: decision, value: decision, meta: { token }, by };
  await host.control(ref, { kind: "answer", input, env });
  return { workflowId, runId, stepId: wanted.stepId, decision };
}

/** Parses a decision. @throws ExecutorError */
export function decisionOf(decision: string): Decision {
  const known = decisions.find((one) => one === decision);
  if (known) return known;
  throw notDecision(decision, decisions);
}
