import { messageOf } from "@uncaged/workflow/interpreter";
import { askApproval, hasSecret, secretIn } from "../llm/approvals.ts";
import { approvalImpossible } from "../llm/errors.ts";
import type { RecordedCall, StepCalls } from "./calls.ts";

/** A tool call. `needsApproval` returns whether the call needs an approval. */
export type AskedCall = {
  name: string;
  input: unknown;
  needsApproval: () => boolean | PromiseLike<boolean>;
};

/**
 * Makes the thread wait for a person's decision on a tool call that needs an approval. Returns null if the tool may
 * run, otherwise a text for the model. Call this function within the recorded call.
 *
 * @throws WorkflowError `NO_APPROVAL` if the step cannot ask; the signal's reason if the signal is aborted.
 */
export async function refusalOf(
  { ctx, isResumed }: StepCalls,
  call: RecordedCall,
  { name, input, needsApproval }: AskedCall,
): Promise<string | null> {
  const { questions, env = {} } = ctx;
  const isAnswered = questions?.answered(call.key) !== undefined;
  try {
    // A person's decision remains valid even if the tool's approval rule has changed since.
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
