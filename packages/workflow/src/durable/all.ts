import type { RoleOutput } from "../contract/contract.ts";
import { show } from "../contract/show.ts";
import type { StepFn, Steps } from "./call.ts";
import { memberOf, valueOf } from "./output.ts";
import type { Outcome, Progress } from "./replay.ts";
import { concurrently, recorded, Scheduler } from "./scheduler.ts";

/** One of several that run concurrently: work to do, or a question to ask when all work is done. */
export type Member = { role: string; work: StepFn<unknown> } | { ask: () => Steps<unknown> };

/** A member that is work. `number` is null unless others have the same role. */
type Open = { index: number; role: string; number: number | null; work: StepFn<unknown> };
type Failures = { first: Error | null };

/**
 * Runs members concurrently.
 *
 * First it takes from the log what this group has there, in whatever order it finished; then it runs
 * the rest at once and commits each when it finishes; then it throws what failed first, or asks the
 * questions, one after the other. So nothing is in flight when it throws or asks.
 */
export async function* runAll(progress: Progress, members: readonly Member[]): Steps<unknown[]> {
  yield* progress.settle();
  const values: unknown[] = members.map(() => undefined);
  const open = openOf(members);
  const failures: Failures = { first: null };
  takeRecorded(progress, open, values, failures);
  yield* runRest(progress, [...open.values()], values, failures);
  if (failures.first !== null) throw failures.first;
  for (const [index, member] of members.entries()) {
    if ("ask" in member) values[index] = yield* member.ask();
  }
  return values;
}

const keyOf = (role: string, number: number | null): string => `${number ?? ""} ${role}`;

function openOf(members: readonly Member[]): Map<string, Open> {
  const roles = new Map<string, number>();
  for (const member of members) {
    if ("work" in member) roles.set(member.role, (roles.get(member.role) ?? 0) + 1);
  }
  const seen = new Map<string, number>();
  const open = new Map<string, Open>();
  for (const [index, member] of members.entries()) {
    if (!("work" in member)) continue;
    const { role, work } = member;
    const before = seen.get(role) ?? 0;
    seen.set(role, before + 1);
    const number = roles.get(role) === 1 ? null : before;
    open.set(keyOf(role, number), { index, role, number, work });
  }
  return open;
}

function takeRecorded(
  progress: Progress,
  open: Map<string, Open>,
  values: unknown[],
  failures: Failures,
): void {
  const keyed = (step: RoleOutput): string => keyOf(step.role, memberOf(step));
  for (const { commit, task } of recorded(open, progress.replay.rest(), keyed)) {
    if (task === undefined) progress.replay.diverge(`came to ${listed([...open.values()])}`);
    progress.replay.accept();
    try {
      values[task.index] = valueOf(commit);
    } catch (failure) {
      failures.first ??= failure as Error;
    }
  }
}

async function* runRest(
  progress: Progress,
  rest: readonly Open[],
  values: unknown[],
  failures: Failures,
): AsyncGenerator<RoleOutput, void, unknown> {
  const scheduler = new Scheduler<{ member: Open; outcome: Outcome }>();
  const tasks = rest.map((member) => async () => {
    const outcome = await progress.attempt(member.role, member.number, member.work);
    scheduler.publish({ member, outcome });
  });
  void concurrently(tasks).then(
    () => scheduler.close(),
    (error: unknown) => scheduler.close({ error }),
  );
  for await (const { member, outcome } of scheduler.items()) {
    if (outcome.failure === null) {
      values[member.index] = outcome.value;
      yield progress.offer(outcome.output);
    } else {
      failures.first ??= outcome.failure;
      progress.remember(outcome.output);
    }
  }
}

function listed(open: readonly Open[]): string {
  const names = open.slice(0, 5).map(({ role }) => show(role));
  return open.length === 1 ? names.join() : `one of ${names.join(", ")}`;
}
