import { compileForAnswer } from "../bundle/schema.ts";
import { INPUT, type RoleOutput, type Step, type WaitMeta } from "../contract/contract.ts";
import { isQuestion } from "../contract/wait.ts";
import { answererOf } from "../control/answered-by.ts";
import type { InputRequest, StepEdit } from "../control/control.ts";
import {
  answerStep,
  type AskedQuestion,
  type GivenAnswer,
  withExactJson,
} from "../engine/answer.ts";
import { system } from "../system/system.ts";

/** The `__input__` step of an answer at the current time. @see answerStep */
export const answerAt = (
  threadId: string,
  asked: AskedQuestion,
  given: GivenAnswer,
  now: number,
): Promise<RoleOutput> =>
  answerStep(threadId, asked, given, { judge: compileForAnswer, now: () => now });

/** A step of the source of a fork, and its number there, from 1. */
export type SourceStep = { threadId: string; step: Step | undefined; number: number };

/**
 * Returns the answer of a fork to its last kept step, or null if that step is not a question.
 * @throws WorkflowError the errors of {@link answerStep}
 */
export async function answerTo(asked: SourceStep, input: InputRequest): Promise<Step | null> {
  return await answerAtTime(asked, input, system.clock.now());
}

async function answerAtTime(
  { threadId, step, number }: SourceStep,
  input: InputRequest,
  timestamp: number,
): Promise<Step | null> {
  if (step === undefined || !isQuestion(step)) return null;
  const asked = { number, wait: step.meta as WaitMeta };
  return { ...(await answerAt(threadId, asked, { input }, timestamp)), timestamp };
}

/** Returns an `__input__` step that does not answer a question. */
export function inputStep(input: InputRequest): Step {
  const { content, value, meta } = withExactJson(input);
  const valued = value === undefined ? {} : { value };
  const whole = { ...meta, ...valued, by: answererOf(input) };
  return { role: INPUT, content, meta: whole, timestamp: system.clock.now() };
}

/**
 * Edits a step. An edited answer gets the value of its new text, and passes the same checks as a new answer. `before`
 * is the step before it.
 * @throws WorkflowError the errors of {@link answerStep}
 */
export async function edited(
  step: Step,
  { content = step.content, meta = step.meta, by }: StepEdit,
  before: SourceStep,
): Promise<Step> {
  if (step.role !== INPUT) return { ...step, content, meta };
  const { timestamp } = step;
  const { value, ...others } = meta;
  const isOld = content !== step.content && sameJson(value, step.meta.value);
  const given = { content, meta: others, by, ...(!isOld && { value }) };
  const answer = await answerAtTime(before, given, timestamp);
  if (answer !== null) return answer;
  const other = inputStep(given);
  // Keep `for`: an edit must not make another kind of input.
  return { ...other, meta: { ...other.meta, for: step.meta.for }, timestamp };
}

const sameJson = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other);
