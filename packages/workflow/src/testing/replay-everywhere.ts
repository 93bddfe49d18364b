import { INPUT, WAIT, type RoleOutput, type Step, type WorkflowFn } from "../contract/contract.ts";
import { isRecord } from "../contract/show.ts";
import { sleepsUntil } from "../contract/wait.ts";
import { type RunThreadOptions, runThread, type ThreadOutcome } from "./run-thread.ts";
import { replayDiffers, replayNotCompleted } from "./errors.ts";

/** Options of {@link replayEverywhere}. */
export type ReplayOptions = RunThreadOptions & {
  /** The required end of the thread, `completed` by default. `maxRounds`: it runs out of rounds. */
  expect?: ThreadOutcome["status"] | "maxRounds";
};

/**
 * Drives a workflow to its end, then restarts it from every prefix of its steps, as after a crash, and checks that it
 * reaches the same end with the same steps. Every workflow should pass. Steps are compared by role, content and meta;
 * their order may differ, because concurrent work may finish in any order. Works with any test runner.
 *
 *     test("survives a crash anywhere", () => replayEverywhere(run, { prompt: "fix it" }));
 *
 * A workflow that asks needs `answers`. A thread that fails, waits or runs out of rounds is an error, unless `expect`
 * names that end. A workflow whose agents answer differently each time can't pass: use a scripted agent.
 *
 * @returns The outcome of the first run.
 * @throws WorkflowError `REPLAY_NOT_COMPLETED`; `REPLAY_DIFFERS` with every difference in `details`; the errors of
 * {@link runThread}.
 */
export async function replayEverywhere(
  workflow: WorkflowFn,
  { expect = "completed", ...options }: ReplayOptions = {},
): Promise<ThreadOutcome> {
  const given = options.steps?.length ?? 0;
  const whole = await runThread(workflow, options);
  checkExpected(whole, expect);
  const details: string[] = [];
  for (let after = given; after <= whole.steps.length; after++) {
    const steps = whole.steps.slice(0, after);
    const isAnswer = ({ role, meta }: Step) => role === INPUT && meta.sleep !== true;
    const used = steps.slice(given).filter(isAnswer).length;
    const answers = Array.isArray(options.answers) ? options.answers.slice(used) : options.answers;
    const again = await runThread(workflow, { ...options, steps, answers });
    const what = difference(whole, again);
    if (what !== null) details.push(`after ${after} steps: ${what}`);
  }
  if (details.length === 0) return whole;
  throw replayDiffers(details);
}

function checkExpected(whole: ThreadOutcome, expect: string): void {
  const isOut = whole.status === "completed" && whole.reason === "maxRounds";
  const status = isOut ? "maxRounds" : whole.status;
  if (status === expect) return;
  throw replayNotCompleted({ ...unexpected(whole, isOut), status }, expect);
}

function unexpected(whole: ThreadOutcome, isOut: boolean): { message: string; hint: string } {
  const after = `after ${whole.steps.length} steps`;
  if (whole.status === "waiting") {
    const what = JSON.stringify(whole.wait.meta.for);
    return { message: `the thread is waiting for ${what} ${after}`, hint: "give it answers" };
  }
  if (isOut) return { message: `the thread ran out of rounds ${after}`, hint: "raise maxRounds" };
  return { message: `the thread is ${ending(whole)} ${after}`, hint: "fix the workflow" };
}

function difference(whole: ThreadOutcome, again: ThreadOutcome): string | null {
  const missing = without(whole.steps, again.steps);
  const added = without(again.steps, whole.steps);
  if (again.status !== whole.status) return `${ending(again)} instead of ${ending(whole)}`;
  if (missing.length > 0)
    return `without ${named(missing)}${added.length > 0 ? ` and with extra ${named(added)}` : ""}`;
  if (added.length > 0) return `with extra ${named(added)}`;
  return ending(again) === ending(whole) ? null : `${ending(again)} instead of ${ending(whole)}`;
}

function ending(outcome: ThreadOutcome): string {
  const { status } = outcome;
  if ("result" in outcome) return `${status} with ${JSON.stringify(outcome.result)}`;
  return "message" in outcome ? `${status} with ${JSON.stringify(outcome.message)}` : status;
}

/** Returns the steps of a list that are missing in a second list. Counts duplicates. */
function without(steps: readonly Step[], others: readonly Step[]): Step[] {
  const left = new Map<string, number>();
  for (const step of others) left.set(stepIdentity(step), (left.get(stepIdentity(step)) ?? 0) + 1);
  return steps.filter((step) => {
    const count = left.get(stepIdentity(step)) ?? 0;
    left.set(stepIdentity(step), count - 1);
    return count <= 0;
  });
}

/** Returns the compared parts of a step, without times. */
export function stepIdentity(step: RoleOutput): string {
  const { role, content, meta } = step;
  if (sleepsUntil(step) !== null) return JSON.stringify([role, { ...meta, expiresAt: 0 }]);
  const timeless = (key: string, value: unknown): unknown =>
    key === "retry" && isRecord(value) ? { ...value, at: 0 } : value;
  const mark = JSON.stringify(meta.__durable__, timeless);
  const deadline = role === WAIT && meta.expiresAt !== undefined ? { expiresAt: 0 } : {};
  return JSON.stringify([role, content, { ...meta, ...deadline, __durable__: mark }]);
}

const named = (steps: readonly Step[]): string =>
  steps.map(({ role, content }) => `${role} ${JSON.stringify(content.slice(0, 60))}`).join(", ");
