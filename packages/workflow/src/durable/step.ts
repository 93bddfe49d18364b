import { type WaitRequest, answerOf, sentInput, waitOutput } from "../contract/wait.ts";
import { type Member, runAll } from "./all.ts";
import type { DurableStep, StepCall, StepFn, Steps } from "./call.ts";
import { valueOf } from "./output.ts";
import type { Progress } from "./replay.ts";

/** A call of `step`, `step.all` or `step.wait`; `member` is what it is within a `step.all`. */
class Call implements StepCall<unknown> {
  readonly member: Member | null;
  readonly #progress: Progress;
  readonly #run: () => Steps<unknown>;

  constructor(progress: Progress, name: string, member: Member | null, run: () => Steps<unknown>) {
    this.#progress = progress;
    this.member = member;
    this.#run = run;
    progress.described(this, name);
  }

  [Symbol.asyncIterator](): Steps<unknown> {
    this.#progress.started(this);
    return this.#run();
  }
}

/** The `step` of one run of a durable workflow. */
export function stepFor(progress: Progress): DurableStep {
  const step = (role: string, work: StepFn<unknown>): Call =>
    new Call(progress, role, { role, work }, () => runStep(progress, role, work));

  const all = (given: readonly StepCall<unknown>[] | Record<string, StepFn<unknown>>): Call => {
    if (Array.isArray(given)) {
      const members = given.map((call) => memberIn(progress, call));
      return new Call(progress, "all", null, () => runAll(progress, members));
    }
    const members = Object.entries(given).map(([role, work]) => ({ role, work }));
    return new Call(progress, "all", null, () => runNamed(progress, members));
  };

  const wait = (given: string | (WaitRequest & { for: string }), request?: WaitRequest): Call => {
    const { for: what, ...rest } = typeof given === "string" ? { ...request, for: given } : given;
    const ask = (): Steps<unknown> => runWait(progress, what, rest);
    return new Call(progress, what, { ask }, ask);
  };

  return Object.assign(step, { all, wait }) as unknown as DurableStep;
}

async function* runStep(progress: Progress, role: string, work: StepFn<unknown>): Steps<unknown> {
  yield* progress.settle();
  const recorded = progress.replay.take(role);
  if (recorded !== undefined) return valueOf(recorded);
  const outcome = await progress.attempt(role, null, work);
  if (outcome.failure !== null) {
    progress.remember(outcome.output);
    throw outcome.failure;
  }
  yield progress.offer(outcome.output);
  return outcome.value;
}

async function* runWait(progress: Progress, what: string, request: WaitRequest): Steps<unknown> {
  yield* progress.settle();
  const recorded = progress.replay.takeAnswer(what);
  if (recorded !== undefined) return answerOf(recorded);
  const sent = yield progress.offer(waitOutput(what, request));
  return answerOf(sentInput(sent, what));
}

async function* runNamed(
  progress: Progress,
  members: { role: string; work: StepFn<unknown> }[],
): Steps<unknown> {
  const values = yield* runAll(progress, members);
  return Object.fromEntries(members.map(({ role }, index) => [role, values[index]]));
}

function memberIn(progress: Progress, call: StepCall<unknown>): Member {
  if (!(call instanceof Call) || call.member === null) {
    throw new TypeError("step.all takes calls of step and step.wait, or an object of functions");
  }
  progress.started(call);
  return call.member;
}
