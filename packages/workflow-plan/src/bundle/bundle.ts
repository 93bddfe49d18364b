import {
  answersFromFixture,
  drainsOnPause,
  folderOf,
  opensAttempts,
} from "@uncaged/workflow/interpreter";
import {
  type Bundle,
  type RoleOutput,
  START,
  type ThreadContext,
  type ThreadInput,
  type WorkflowFn,
  type WorkflowOptions,
  type WorkflowResult,
} from "@uncaged/workflow";
import { openEnvironment, type StepAgent } from "../agent/agent.ts";
import { claudeAgent, type ClaudeAgentOptions } from "../agent/claude.ts";
import { Interpreter } from "../interpreter/interpreter.ts";
import { StepEnvironments } from "../step/environment.ts";
import { PlanState } from "../state/state.ts";
import { definitionOf, type PlanDefinition, type PlanDocument } from "../plan/definition.ts";
import { describePlan, type PlanDescriptor } from "./describe.ts";
import { RecordedAttempts } from "./recorded.ts";

/** Options of {@link planBundle}. */
export type PlanOptions = {
  /** The agent of the steps (default: Claude Code; the thread's option `agentCommand` names its command). */
  agent?: StepAgent;
  /** The maximum number of concurrent steps (default: the thread's option of that name, or 4). */
  maxParallelSteps?: number;
  /**
   * The time in milliseconds after which a question about a failed step is answered with `abort` (default: the
   * thread's option of that name, or never).
   */
  answerMs?: number;
};

const defaultParallelSteps = 4;
const defaultCommand = "claude";
const defaultTimeoutMs = 1_800_000;

/**
 * Makes a bundle from a plan. Each event of a step is a record of the thread with the step's id as its role. A
 * question about a failed step is `__wait__`. The trigger data of a run is the thread's option `triggerData`.
 *
 *     export const { run, descriptor } = planBundle(workflow);
 *
 * @throws ExecutorError
 */
export function planBundle(
  workflow: PlanDocument,
  options: PlanOptions = {},
): Bundle & { descriptor: PlanDescriptor } {
  const plan = definitionOf(workflow);
  const run: WorkflowFn = (input, given) => runPlan(plan, input, given, options);
  return {
    descriptor: describePlan(plan),
    run: Object.assign(run, {
      [opensAttempts]: true,
      [drainsOnPause]: true,
      [answersFromFixture]: true,
    }),
  };
}

async function* runPlan(
  plan: PlanDefinition,
  input: ThreadInput,
  given: WorkflowOptions,
  options: PlanOptions,
): AsyncGenerator<RoleOutput, WorkflowResult, RoleOutput | undefined> {
  const state = new PlanState(plan);
  for (const step of input.steps) state.apply(step);
  const { metadata = {}, failure_policy: policy } = plan;
  const { agentCommand, attempts, maxRounds, pause, triggerData } = given;
  const command = typeof agentCommand === "string" ? agentCommand : undefined;
  const thread = threadOf(input, given, metadata.cwd);
  const environments = new StepEnvironments(thread, plan, {
    command: options.agent ? null : (command ?? defaultCommand),
    options: given,
  });
  const recorded = RecordedAttempts.of(given, state);
  const interpreter = new Interpreter(state, input.steps.length, {
    thread,
    agent: recorded?.agent ?? options.agent ?? claudeAgent({ command, ...agentIn(given) }),
    environment: recorded ? async () => openEnvironment : (step) => environments.of(step),
    ...{ attempts, pause, maxRounds },
    policy: recorded ? { ...policy, retry_delay_ms: 0 } : policy,
    triggerData: typeof triggerData === "string" ? triggerData : null,
    maxParallelSteps:
      options.maxParallelSteps ?? countIn(given.maxParallelSteps) ?? defaultParallelSteps,
    timeoutMs: metadata.container?.timeout ?? defaultTimeoutMs,
    answerMs: options.answerMs ?? countIn(given.answerMs),
  });
  const items = interpreter.items();
  yield* recorded ? answered(items, recorded) : items;
  environments.end();
  return resultOf(state);
}

/**
 * Yields the same records up to the first missing recorded answer. There the thread fails before it commits the
 * failure of the step.
 */
async function* answered(
  items: ReturnType<Interpreter["items"]>,
  recorded: RecordedAttempts,
): ReturnType<Interpreter["items"]> {
  let answer: RoleOutput | undefined;
  try {
    for (;;) {
      const { done, value } = await items.next(answer);
      recorded.check();
      if (done) return;
      answer = yield value;
    }
  } finally {
    await items.return();
  }
}

const agentIn = ({ agentModel, agentTools }: WorkflowOptions): ClaudeAgentOptions => ({
  ...(typeof agentModel === "string" && { model: agentModel }),
  ...(Array.isArray(agentTools) && { tools: agentTools.map(String) }),
});

/** Copies the list of steps. The copy does not grow, because it identifies the spending of all agents. */
function threadOf(
  { prompt, steps }: ThreadInput,
  options: WorkflowOptions,
  own: string | undefined,
): ThreadContext {
  const { attempts, env, maxRounds, signal, threadId } = options;
  return {
    threadId,
    start: { role: START, content: prompt, meta: { maxRounds, threadId }, timestamp: 0 },
    steps: steps.map((step) => ({ timestamp: 0, ...step })),
    ...{ attempts, env, signal, options, cwd: own ?? folderOf(options) },
  };
}

/** Returns an option of a thread if it is a whole number of at least 1, else null. */
const countIn = (option: unknown): number | null =>
  Number.isSafeInteger(option) && Number(option) > 0 ? Number(option) : null;

function resultOf({ failed, steps }: PlanState): WorkflowResult {
  const count = steps.length === 1 ? "1 step" : `${steps.length} steps`;
  if (steps.every(({ status }) => status === "succeeded")) {
    return { returnCode: 0, summary: `${count} succeeded` };
  }
  const [first, ...others] = failed;
  if (!first) return { returnCode: 1, summary: "not all steps have run" };
  const more = others.map(({ step }) => step.id);
  const also = more.length === 0 ? "" : `; also failed: ${more.join(", ")}`;
  return { returnCode: 1, summary: `step ${first.step.id} failed: ${first.error ?? ""}${also}` };
}
