import type { RunToolApprovalItem } from "@openai/agents";
import { decisionOf } from "@uncaged/workflow/interpreter";
import { approvalImpossible } from "../llm/errors.ts";
import { refusalOf } from "../recorded-call/approval.ts";
import type { RecordedCall, StepCalls } from "../recorded-call/calls.ts";
import { currentCalls } from "../recorded-call/step.ts";
import { currentRun } from "../run/run.ts";
import { callOf } from "./items.ts";

/** The methods of a run's state that record decisions. */
type Decided = {
  approve(item: RunToolApprovalItem): void;
  reject(item: RunToolApprovalItem, options: { message: string }): void;
};

/**
 * Asks a person to decide on each interruption of a run, in sequence, while the thread waits. Adds the decisions to
 * `state`.
 */
export async function decide(
  calls: StepCalls,
  state: Decided,
  interruptions: readonly RunToolApprovalItem[],
): Promise<void> {
  for (const item of interruptions) {
    const { id, name, input } = callOf(item);
    const refusal = await asked(calls, { id, name, input }, (call) =>
      refusalOf(calls, call, { name, input, needsApproval: () => true }),
    );
    if (refusal === null) state.approve(item);
    else state.reject(item, { message: refusal });
  }
}

/**
 * Asks a person for an approval while the thread waits. Returns true if the person approves. Replaces the function of
 * the same name that an export of Agent Builder leaves to the author.
 *
 * @throws WorkflowError `NO_APPROVAL` outside a step that can wait.
 */
export async function approvalRequest(message: string): Promise<boolean> {
  const calls = currentCalls();
  const { questions, attempts } = calls?.ctx ?? {};
  if (!calls || !questions) throw approvalImpossible("approvalRequest");
  return await asked(calls, { message }, async (call) => {
    await call.alone();
    const { answer } = await questions.ask(call.key, "approval", {
      content: message || "Continue?",
      ...{ stepID: currentRun().stepID, attempt: attempts?.outermost ?? undefined },
      ...{ schema: decisionSchema, token: call.key },
    });
    // An answer that is not a decision must not approve.
    return decisionOf(answer.value)?.decision === "approve";
  });
}

const decisionSchema = {
  type: "object",
  properties: { decision: { enum: ["approve", "reject"] }, note: { type: "string" } },
  required: ["decision"],
  additionalProperties: false,
};

/** Asks as part of a recorded call. A repeated step gets the recorded answer. */
async function asked<T>(
  calls: StepCalls,
  content: object,
  ask: (call: RecordedCall) => Promise<T>,
): Promise<T> {
  const call = await calls.open("approval", content);
  try {
    const value = await call.within(() => ask(call));
    if (!call.found) await call.done({ value });
    return value;
  } catch (error) {
    if (!call.found) await call.failed();
    throw error;
  }
}
