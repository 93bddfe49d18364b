import {
  type DurableStep,
  type Role,
  type RoleResult,
  START,
  type Step,
  type StepCall,
  type StepContext,
  type StepOptions,
  type ThreadInput,
  type WorkflowOptions,
} from "@uncaged/workflow";
import { isStepQuestion, usesAttempt } from "@uncaged/workflow/interpreter";
import { stepsOf } from "../run/thread-steps.ts";

/**
 * Plays a role as a step of a durable workflow, with the given prompt or the prompt of the thread, and with retries.
 */
export type RoleSteps = <Meta>(
  name: string,
  role: Role<Meta>,
  prompt?: string,
  options?: StepOptions,
) => StepCall<RoleResult<Meta>>;

/**
 * Lets a durable workflow play roles. A role gets the log before its step.
 *
 *     export const run = durable(async function* (step, input, options) {
 *       const play = roleSteps(step, input, options);
 *       const plan = yield* play("planner", planner);
 *       return (yield* play("coder", coder, `Carry this out: ${plan.content}`)).content;
 *     });
 */
export function roleSteps(
  step: DurableStep,
  input: ThreadInput,
  options: WorkflowOptions,
): RoleSteps {
  const {
    threadId,
    maxRounds,
    signal: _,
    cwd: __,
    env: ___,
    attempts: ____,
    blobs,
    journal,
    worktrees,
    shared,
    ...rest
  } = options;
  const steps = stepsOf(input.steps);
  const start = { role: START, content: input.prompt, meta: { maxRounds, threadId }, timestamp: 0 };
  return (name, role, prompt = input.prompt, stepOptions) => {
    const play = async (ctx: StepContext) => {
      const { signal, cwd, env, attempt, attempts, key, questions, steps: history } = ctx;
      const result = await role({
        ...{
          threadId,
          steps: withoutStepQuestions(history),
          allSteps: steps,
          role: name,
          signal,
          cwd,
          env,
          attempts,
          blobs,
          journal,
          worktrees,
          shared,
          key,
          questions,
        },
        start: { ...start, content: prompt },
        // Any other role may play several roles, each of which takes over an attempt.
        ...(usesAttempt in role && { attempt }),
        ...{ params: input.params, options: rest },
      });
      const meta = result.meta as Record<string, unknown>;
      steps.push({ role: name, content: result.content, meta, timestamp: Date.now() });
      return result;
    };
    return step(name, play, stepOptions);
  };
}

/** Removes the questions of running steps, because other roles get only the result. */
const withoutStepQuestions = (steps: readonly Step[]): Step[] =>
  steps.filter((step, at) => {
    const before = steps[at - 1];
    return !isStepQuestion(step) && !(before && isStepQuestion(before));
  });
