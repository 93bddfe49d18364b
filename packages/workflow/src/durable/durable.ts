import {
  folderOf,
  type RoleOutput,
  type ThreadInput,
  WAIT,
  type WorkflowFn,
  type WorkflowOptions,
  type WorkflowResult,
} from "../contract/contract.ts";
import { opensAttempts } from "../contract/attempt.ts";
import { answersFromFixture } from "../contract/fixture.ts";
import { toJson } from "../contract/json.ts";
import { isPlainObject, isRecord } from "../contract/show.ts";
import type { DurableStep } from "./call.ts";
import { StepFailure } from "./output.ts";
import { Progress } from "./replay.ts";
import { stepFor } from "./step.ts";
import { badResult } from "./errors.ts";

/** Valid return types of a durable workflow: JSON values. */
type Returnable = string | number | boolean | null | object;

/**
 * The program of a durable workflow. A returned string is the summary of a success. An object with a `returnCode` is
 * the result itself. Any other JSON value is the `value` of a success, and its JSON the summary.
 */
export type DurableProgram<Returned extends Returnable = Returnable> = (
  step: DurableStep,
  input: ThreadInput,
  options: WorkflowOptions & { cwd: string },
) => AsyncGenerator<RoleOutput, Returned, unknown>;

/** Type of the result's value for a program's return type. */
export type ValueOf<Returned> = Returned extends string
  ? never
  : Returned extends { returnCode: number }
    ? Returned extends { value?: infer Value }
      ? Value
      : never
    : Returned;

/**
 * Makes a workflow from imperative code. The workflow survives a crash, a resume and a fork.
 *
 *     export const run = durable(async function* (step, input) {
 *       const plan = yield* step("planner", () => ask(`plan: ${input.prompt}`));
 *       const parts = yield* step.all({ code: () => write(plan), tests: () => test(plan) });
 *       const { value } = yield* step.wait<boolean>("approval", { schema: { type: "boolean" } });
 *       if (value) yield* step("merger", ({ signal, cwd }) => merge(parts, { signal, cwd }));
 *       return value ? "merged" : "refused";
 *     });
 *
 * The program runs from its start each time, and steps found in the log are not repeated. Code between steps must
 * therefore depend only on the input and on the values of steps. A replay that reaches another step than the recorded
 * step stops with `DIVERGED`, even if the program catches the error. A plain `yield` is also a step; it is skipped when
 * the log has it. Parts can be factored out into generators: `yield* review(step, plan)`.
 *
 * The program's `finally` blocks run when the thread is closed.
 *
 * @throws WorkflowError while the thread runs: `DIVERGED`, `STEP_NOT_RUN` when `step` was called without `yield*`,
 * `NO_ANSWER`. Uncaught errors of a step's work are thrown unchanged.
 */
export function durable<Returned extends Returnable>(
  program: DurableProgram<Returned>,
): WorkflowFn<ValueOf<Returned>> {
  const workflow: WorkflowFn = async function* run(input, options) {
    const progress = new Progress(input, options);
    const steps = program(stepFor(progress), input, { ...options, cwd: folderOf(options) });
    try {
      let next = await advance(progress, steps, undefined);
      while (next.done !== true) {
        const sent = yield* commit(progress, next.value);
        next = await advance(progress, steps, sent);
      }
      return resultOf(next.value);
    } finally {
      await steps.return("" as never);
    }
  };
  const marks = { [opensAttempts]: true, [answersFromFixture]: "each" };
  return Object.assign(workflow, marks) as WorkflowFn<ValueOf<Returned>>;
}

const longestSummary = 1_000;

function resultOf(returned: unknown): WorkflowResult {
  if (typeof returned === "string") return { returnCode: 0, summary: returned };
  if (isRecord(returned) && "returnCode" in returned) return returned as WorkflowResult;
  const text = toJson(returned, "the return value");
  if (!text.ok) throw badResult(text.reason);
  const { json } = text;
  const summary = json.length > longestSummary ? `${json.slice(0, longestSummary)}…` : json;
  return { returnCode: 0, summary: summary.toWellFormed(), value: returned };
}

async function advance(progress: Progress, steps: ReturnType<DurableProgram>, sent: unknown) {
  try {
    const next = await steps.next(sent);
    progress.replay.check();
    if (next.done === true) progress.finish();
    return next;
  } catch (thrown) {
    progress.replay.check();
    throw thrown instanceof StepFailure && thrown.cause !== undefined ? thrown.cause : thrown;
  }
}

type Commits = AsyncGenerator<RoleOutput, unknown, unknown>;

/** Yields a new output; for an output in the log, returns the recorded answer. */
async function* commit(progress: Progress, output: RoleOutput): Commits {
  if (progress.isOffered(output)) return yield* commitNew(progress, output);
  for await (const failure of progress.settle()) yield* commitNew(progress, failure);
  if (typeof output?.role !== "string") return yield output;
  const { replay } = progress;
  replay.at = undefined;
  const isWait = output.role === WAIT;
  const found = isWait ? replay.takeAnswer(String(output.meta?.for)) : replay.take(output.role);
  if (found === undefined) return yield* commitNew(progress, output);
  return isWait ? found : undefined;
}

async function* commitNew({ replay }: Progress, output: RoleOutput): Commits {
  const sent: unknown = yield output;
  replay.record(output);
  if (output.role === WAIT && isPlainObject(sent)) replay.record(sent as RoleOutput);
  return sent;
}
