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

/** Runs a role as a step of a durable workflow, with the given prompt or the thread's prompt, and with retries. */
export type RoleSteps = <Meta>(
  name: string,
  role: Role<Meta>,
  prompt?: string,
  options?: StepOptions,
) => StepCall<RoleResult<Meta>>;

/**
 * Returns a function that runs roles as steps of a durable workflow. A role gets the steps of the log before its own
 * step.
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
        // Other roles may run several roles, each in its own attempt.
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

/** Returns the steps without the questions of running steps, because other roles get only the results. */
const withoutStepQuestions = (steps: readonly Step[]): Step[] =>
  steps.filter((step, at) => {
    const before = steps[at - 1];
    return !isStepQuestion(step) && !(before && isStepQuestion(before));
  });
