import type { RoleOutput } from "../contract/contract.ts";
import { show } from "../contract/show.ts";
import type { Duration } from "../contract/duration.ts";
import { type AskOutside, AskedMeanwhile, type OpenQuestion } from "../contract/question.ts";
import {
  answerOf,
  sentInput,
  sleepOutput,
  type WaitRequest,
  waitOutput,
  wakesAt,
  withinMs,
} from "../contract/wait.ts";
import type { DurableStep, StepCall, StepFn, Steps } from "./call.ts";
import { memberKey, memberOf, valueOf } from "./output.ts";
import { nextIn, type Outcome, type Progress, type StepWork, type Work } from "./replay.ts";
import { stepAwaited } from "./errors.ts";
import { sleepTime } from "./time.ts";
import { recorded, Scheduler } from "./scheduler.ts";
import { policyOf, type StepOptions, type Tries } from "./tries.ts";

/** A value in an object for `step.all`: a function, which runs as a step with its key as name, or a call. */
type Named = StepFn<unknown> | StepCall<unknown>;

/** A member of a `step.all`: work, or a question to ask when all work is done. */
type Member = StepWork | { ask: () => Steps<unknown> };

/** A call of `step`, `step.all` or `step.wait`; `member` is its form within a `step.all`. */
class Call implements StepCall<unknown> {
  readonly member: Member | null;
  /** The position of the call. Its message is the call's name. */
  readonly at: Error;
  readonly #progress: Progress;
  readonly #run: () => Steps<unknown>;

  constructor(progress: Progress, name: string, member: Member | null, run: () => Steps<unknown>) {
    this.#progress = progress;
    this.member = member;
    this.#run = run;
    this.at = new Error(name);
    progress.idle.add(this);
  }

  [Symbol.asyncIterator](): Steps<unknown> {
    this.#progress.idle.delete(this);
    this.#progress.replay.at = this.at;
    return this.#run();
  }

  // `await`, and `yield` without a star, call this function. Without the error, the workflow would continue without
  // running the step.
  then(): never {
    throw stepAwaited(this.at.message);
  }
}

/** Returns the `step` of one run of a durable workflow. */
export function stepFor(progress: Progress): DurableStep {
  const step = (role: string, fn: StepFn<unknown>, options?: StepOptions): Call => {
    const work = workOf(role, fn, options);
    return new Call(progress, role, work, () => runStep(progress, work));
  };

  const all = (given: readonly StepCall<unknown>[] | Record<string, Named>): Call => {
    if (Array.isArray(given)) {
      const members = given.map((call) => memberIn(progress, call));
      return new Call(progress, "all", null, () => runAll(progress, members));
    }
    const named = Object.entries(given).map(([role, one]): [string, Member] => [
      role,
      typeof one === "function" ? workOf(role, one) : memberIn(progress, one),
    ]);
    return new Call(progress, "all", null, () => runNamed(progress, named));
  };

  const wait = (given: string | (WaitRequest & { for: string }), request?: WaitRequest): Call => {
    const { for: what, ...rest } = typeof given === "string" ? { ...request, for: given } : given;
    // Check here, while the stack still has the position of the call.
    withinMs(what, rest);
    const ask = (): Steps<unknown> => runWait(progress, what, rest);
    return new Call(progress, what, { ask }, ask);
  };

  const sleep = (time: Duration | Date): Call => {
    const untilOf = sleepTime(time);
    const ask = (): Steps<unknown> => runSleep(progress, "sleep", untilOf);
    return new Call(progress, "sleep", { ask }, ask);
  };

  return Object.assign(step, { all, wait, sleep }) as unknown as DurableStep;
}

const workOf = (role: string, fn: StepFn<unknown>, options?: StepOptions): StepWork => ({
  role,
  fn,
  policy: policyOf(role, options),
});

async function* runStep(progress: Progress, described: StepWork): Steps<unknown> {
  yield* progress.settle();
  const { replay } = progress;
  const { role } = described;
  const work = progress.work(described, null);
  const { tries } = work;
  const before = replay.history.length;
  for (let found = replay.take(role); found !== undefined; found = replay.take(role)) {
    if (!progress.isTry(work, found)) return valueOf(found);
    tries.wake(replay.takeSleep(role));
  }
  for (;;) {
    if (tries.mustSleep) yield* sleepFor(progress, role, tries);
    else await progress.delay(tries);
    const isBehind = replay.history.length > before;
    const steps = isBehind ? replay.history.slice(0, before) : replay.history;
    const asked = new AskedMeanwhile();
    const attempt = progress.attempt(work, steps, asked.ask);
    for (let one = await asked.next(attempt); one; one = await asked.next(attempt)) {
      const given = replay.questions.given(one.wait);
      one.answer(given ?? sentInput(yield progress.offer(one.wait), role));
    }
    const outcome = await attempt;
    if (outcome.failure === null) {
      yield progress.offer(outcome.output);
      return outcome.value;
    }
    if (!outcome.isTry) {
      progress.remember(outcome.output);
      throw outcome.failure;
    }
    yield progress.offer(outcome.output);
  }
}

/** Lets the thread sleep through a long backoff. */
async function* sleepFor(progress: Progress, what: string, tries: Tries): Steps<void> {
  const until = tries.at;
  yield* runSleep(progress, what, () => until, tries.next);
  tries.wake(until);
}

async function* runWait(progress: Progress, what: string, request: WaitRequest): Steps<unknown> {
  yield* progress.settle();
  let asked: number | null = null;
  const found = progress.replay.takeAnswer(what, (wait) => (asked = wakesAt(wait)));
  if (found !== undefined) return answerOf(found);
  const { within, ...others } = request;
  // A repeated question keeps the deadline in the log.
  const isTimed = within !== undefined && asked !== null;
  const again = isTimed ? { ...others, expiresAt: asked ?? undefined } : request;
  const sent = yield progress.offer(waitOutput(what, again));
  return answerOf(sentInput(sent, what));
}

/** Sleeps until a time that is computed once and then recorded in the log. */
async function* runSleep(
  progress: Progress,
  what: string,
  untilOf: () => number,
  content = "",
): Steps<undefined> {
  yield* progress.settle();
  let until: number | null = null;
  const found = progress.replay.takeAnswer(what, (wait) => (until = wakesAt(wait)));
  if (found !== undefined) return;
  const wakes = until ?? (progress.isRecorded ? Date.now() : untilOf());
  const sent = yield progress.offer(sleepOutput(what, wakes, content));
  sentInput(sent, what);
}

async function* runNamed(progress: Progress, named: [string, Member][]): Steps<unknown> {
  const members = named.map(([, member]) => member);
  const values = yield* runAll(progress, members);
  return Object.fromEntries(named.map(([name], index) => [name, values[index]]));
}

function memberIn(progress: Progress, call: StepCall<unknown>): Member {
  if (!(call instanceof Call) || call.member === null) {
    throw new TypeError("step.all accepts calls of step and step.wait, or an object of functions");
  }
  progress.idle.delete(call);
  return call.member;
}

/** A member with work, and its index among all members. */
type Open = Work & { index: number };

/** Name of the sleep of a group in which all remaining members wait for their next try. */
const groupName = "step.all";

/**
 * Runs members concurrently. First takes the group's results from the log, in any order. Then runs the other members
 * concurrently and commits each as it finishes. Finally throws the first error, or asks the questions in sequence: no
 * work is in flight when it throws, asks or sleeps.
 */
async function* runAll(progress: Progress, members: readonly Member[]): Steps<unknown[]> {
  yield* progress.settle();
  const values: unknown[] = members.map(() => undefined);
  const before = progress.replay.history.length;
  const open = openOf(progress, members);
  let failure = takeAll(progress, open, values);
  while (open.size > 0) {
    for await (const item of runOpen(progress, [...open.values()], before)) {
      if ("wait" in item) {
        const given = progress.replay.questions.given(item.wait);
        item.answer(given ?? sentInput(yield progress.offer(item.wait), groupName));
        continue;
      }
      const { member, outcome } = item;
      if (outcome.isTry) {
        yield progress.offer(outcome.output);
        continue;
      }
      open.delete(memberKey(member.role, member.member));
      if (outcome.failure === null) {
        values[member.index] = outcome.value;
        yield progress.offer(outcome.output);
      } else {
        failure ??= outcome.failure;
        progress.remember(outcome.output);
      }
    }
    const [first] = [...open.values()].sort((a, b) => a.tries.at - b.tries.at);
    if (first?.tries.mustSleep) yield* sleepFor(progress, groupName, first.tries);
  }
  if (failure !== null) throw failure;
  for (const [index, member] of members.entries()) {
    if ("ask" in member) values[index] = yield* member.ask();
  }
  return values;
}

/** Takes a group's results from the log and removes their members from `open`. Returns the first failure. */
function takeAll(progress: Progress, open: Map<string, Open>, values: unknown[]): Error | null {
  const { replay } = progress;
  let failure: Error | null = null;
  const keyed = (step: RoleOutput): string => memberKey(step.role, memberOf(step));
  for (const { commit, task } of recorded(open, replay.rest(), keyed)) {
    if (task === undefined) {
      const until = replay.takeSleep(groupName);
      if (replay.peek() === commit) replay.diverge(`came to ${listed([...open.values()])}`);
      for (const { tries } of open.values()) tries.wake(until);
      continue;
    }
    replay.accept();
    if (progress.isTry(task, commit)) {
      open.set(keyed(commit), task);
      continue;
    }
    try {
      values[task.index] = valueOf(commit);
    } catch (thrown) {
      failure ??= thrown as Error;
    }
  }
  return failure;
}

/** Returns the members with work, by their keys. Members with the same role have an index. */
function openOf(progress: Progress, members: readonly Member[]): Map<string, Open> {
  const works = members.flatMap((member, index) => ("fn" in member ? { member, index } : []));
  const counts = new Map<string, number>();
  const numbers = works.map(({ member }) => nextIn(counts, member.role));
  return new Map(
    works.map(({ member, index }, at): [string, Open] => {
      const { role } = member;
      const number = counts.get(role) === 1 ? null : (numbers[at] as number) - 1;
      return [memberKey(role, number), { ...progress.work(member, number), index }];
    }),
  );
}

/** Runs and retries the open members. Members with a long backoff stay open. */
function runOpen(progress: Progress, open: readonly Open[], before: number) {
  const scheduler = new Scheduler<{ member: Open; outcome: Outcome } | OpenQuestion>();
  const history = progress.replay.history.slice(0, before);
  const tasks = open.map((member) =>
    scheduler.run(async (turn) => {
      const { tries } = member;
      // Asks a question while no work is in flight.
      const ask: AskOutside = (wait) =>
        turn.wait(() => new Promise((answer) => scheduler.publish({ wait, answer })));
      while (!tries.mustSleep) {
        await progress.delay(tries);
        const outcome = await progress.attempt(member, history, ask);
        if (!outcome.isTry) return scheduler.publish({ member, outcome });
        await scheduler.commit({ member, outcome });
      }
    }),
  );
  void Promise.all(tasks).then(
    () => scheduler.close(),
    (error: unknown) => scheduler.close({ error }),
  );
  return scheduler.items();
}

function listed(open: readonly Open[]): string {
  const names = open.slice(0, 5).map(({ role }) => show(role));
  return open.length === 1 ? names.join() : `one of ${names.join(", ")}`;
}
