import type { RoleOutput } from "../contract/contract.ts";
import { show } from "../contract/show.ts";
import { answerOf, sentInput, type WaitRequest, waitOutput } from "../contract/wait.ts";
import type { DurableStep, StepCall, StepFn, Steps } from "./call.ts";
import { memberOf, valueOf } from "./output.ts";
import type { Outcome, Progress } from "./replay.ts";
import { recorded, Scheduler } from "./scheduler.ts";

/** A part that has a name: its work, as a step of that name, or a step that was described. */
type Named = StepFn<unknown> | StepCall<unknown>;

/** One of several that run concurrently: work to do, or a question to ask when all work is done. */
type Member = { role: string; work: StepFn<unknown> } | { ask: () => Steps<unknown> };

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

  const all = (given: readonly StepCall<unknown>[] | Record<string, Named>): Call => {
    if (Array.isArray(given)) {
      const members = given.map((call) => memberIn(progress, call));
      return new Call(progress, "all", null, () => runAll(progress, members));
    }
    const named = Object.entries(given).map(([role, one]): [string, Member] => [
      role,
      typeof one === "function" ? { role, work: one } : memberIn(progress, one),
    ]);
    return new Call(progress, "all", null, () => runNamed(progress, named));
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
  const found = progress.replay.take(role);
  if (found !== undefined) return valueOf(found);
  const outcome = await progress.attempt(role, null, work, progress.replay.history);
  if (outcome.failure !== null) {
    progress.remember(outcome.output);
    throw outcome.failure;
  }
  yield progress.offer(outcome.output);
  return outcome.value;
}

async function* runWait(progress: Progress, what: string, request: WaitRequest): Steps<unknown> {
  yield* progress.settle();
  const found = progress.replay.takeAnswer(what);
  if (found !== undefined) return answerOf(found);
  const sent = yield progress.offer(waitOutput(what, request));
  return answerOf(sentInput(sent, what));
}

async function* runNamed(progress: Progress, named: [string, Member][]): Steps<unknown> {
  const members = named.map(([, member]) => member);
  const values = yield* runAll(progress, members);
  return Object.fromEntries(named.map(([name], index) => [name, values[index]]));
}

function memberIn(progress: Progress, call: StepCall<unknown>): Member {
  if (!(call instanceof Call) || call.member === null) {
    throw new TypeError("step.all takes calls of step and step.wait, or an object of functions");
  }
  progress.started(call);
  return call.member;
}

/** A member that is work. `number` is null unless others have the same role. */
type Open = { index: number; role: string; number: number | null; work: StepFn<unknown> };

/**
 * Runs members concurrently: first it takes from the log what this group has there, in whatever order it
 * finished; then it runs the rest at once and commits each when it finishes; then it throws what failed
 * first, or asks the questions, one after the other. So nothing is in flight when it throws or asks.
 */
async function* runAll(progress: Progress, members: readonly Member[]): Steps<unknown[]> {
  yield* progress.settle();
  const values: unknown[] = members.map(() => undefined);
  const before = progress.replay.history.length;
  const open = openOf(members);
  let failure: Error | null = null;
  const keyed = (step: RoleOutput): string => keyOf(step.role, memberOf(step));
  for (const { commit, task } of recorded(open, progress.replay.rest(), keyed)) {
    if (task === undefined) progress.replay.diverge(`came to ${listed([...open.values()])}`);
    progress.replay.accept();
    try {
      values[task.index] = valueOf(commit);
    } catch (thrown) {
      failure ??= thrown as Error;
    }
  }
  for await (const { member, outcome } of runOpen(progress, [...open.values()], before)) {
    if (outcome.failure === null) {
      values[member.index] = outcome.value;
      yield progress.offer(outcome.output);
    } else {
      failure ??= outcome.failure;
      progress.remember(outcome.output);
    }
  }
  if (failure !== null) throw failure;
  for (const [index, member] of members.entries()) {
    if ("ask" in member) values[index] = yield* member.ask();
  }
  return values;
}

const keyOf = (role: string, number: number | null): string => `${number ?? ""} ${role}`;

function openOf(members: readonly Member[]): Map<string, Open> {
  const counts = new Map<string, number>();
  const works = members.flatMap((member, index) => {
    if (!("work" in member)) return [];
    const number = counts.get(member.role) ?? 0;
    counts.set(member.role, number + 1);
    return [{ ...member, index, number }];
  });
  return new Map(
    works.map((work) => {
      const number = counts.get(work.role) === 1 ? null : work.number;
      return [keyOf(work.role, number), { ...work, number }];
    }),
  );
}

function runOpen(progress: Progress, open: readonly Open[], before: number) {
  const scheduler = new Scheduler<{ member: Open; outcome: Outcome }>();
  const history = progress.replay.history.slice(0, before);
  const tasks = open.map(async (member) => {
    const outcome = await progress.attempt(member.role, member.number, member.work, history);
    scheduler.publish({ member, outcome });
  });
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
