import { messageOf } from "@uncaged/workflow/interpreter";
import { askApproval, hasSecret, secretIn } from "../llm/approvals.ts";
import { approvalImpossible } from "../llm/errors.ts";
import type { RecordedCall, StepCalls } from "./calls.ts";

/** A tool call. `needsApproval` is the rule of the tool. */
export type AskedCall = {
  name: string;
  input: unknown;
  needsApproval: () => boolean | PromiseLike<boolean>;
};

/**
 * Asks a person to approve a tool call if the call needs an approval, while the thread waits. Returns null if the tool
 * may run, else a text for the model. Call it within the recorded call.
 *
 * @throws WorkflowError `NO_APPROVAL` when the step cannot ask; the signal's reason when it is aborted.
 */
export async function refusalOf(
  { ctx, isResumed }: StepCalls,
  call: RecordedCall,
  { name, input, needsApproval }: AskedCall,
): Promise<string | null> {
  const { questions, env = {} } = ctx;
  const isAnswered = questions?.answered(call.key) !== undefined;
  try {
    // A person's decision remains valid even if the rule has changed since.
    if (!isAnswered && !(await needsApproval())) return null;
  } catch (error) {
    return `${name} was not run: the check of its approval failed: ${messageOf(error)}`;
  }
  if (!questions) throw approvalImpossible(name);
  const object = input as object;
  if (hasSecret(object, env, isResumed)) return secretIn(name);
  await call.alone();
  const need = { schema: null, ms: null, otherwise: "refuse", problem: () => null } as const;
  const decision = await askApproval(ctx, { use: { name, input: object }, need, id: call.key });
  return decision.refusal ?? null;
}
