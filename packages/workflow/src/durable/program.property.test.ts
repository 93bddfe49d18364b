import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Step } from "../contract/contract.ts";
import { type ThreadOutcome, run } from "../testing/run-thread.ts";
import type { DurableStep, StepCall, Steps } from "./call.ts";
import type { DurableProgram } from "./durable.ts";

/** Number of tries, and whether the backoff is an hour or zero. */
type Retry = { attempts: number; isLong: boolean };

/** A random program as data, which can run repeatedly. */
type Part =
  | { do: "step"; role: string; returns: unknown; fails: boolean; retry: Retry }
  | { do: "all"; members: { role: string; ticks: number; fails: boolean }[]; named: boolean }
  | { do: "wait"; what: string }
  | { do: "sleep"; ms: number }
  | { do: "loop"; times: number; body: Part[] }
  | { do: "caught"; body: Part[] };

const role = fc.constantFrom("planner", "coder", "tester");
const fails = fc.integer({ min: 0, max: 5 }).map((n) => n === 0);
const { part } = fc.letrec<{ part: Part; body: Part[] }>((tie) => ({
  body: fc.array(tie("part"), { maxLength: 4, depthIdentifier: "body" }),
  part: fc.oneof(
    { depthIdentifier: "body", maxDepth: 3 },
    fc.record({
      do: fc.constant("step"),
      role,
      returns: fc.jsonValue({ maxDepth: 1 }),
      fails,
      retry: fc.record({ attempts: fc.integer({ min: 1, max: 3 }), isLong: fc.boolean() }),
    }),
    fc.record({ do: fc.constant("sleep"), ms: fc.integer({ min: -5, max: 1e9 }) }),
    fc.record({
      do: fc.constant("all"),
      members: fc.array(fc.record({ role, ticks: fc.nat(5), fails }), { maxLength: 4 }),
      named: fc.boolean(),
    }),
    fc.record({ do: fc.constant("wait"), what: fc.constantFrom("approval", "colour") }),
    fc.record({ do: fc.constant("loop"), times: fc.nat(3), body: tie("body") }),
    fc.record({ do: fc.constant("caught"), body: tie("body") }),
  ) as fc.Arbitrary<Part>,
}));
const programs = fc.array(part, { maxLength: 5 });

/** Runs a program. `seen` collects the values of its steps, `ran` counts the work. */
class Interpreter {
  readonly seen: unknown[] = [];
  ran = 0;

  program(parts: readonly Part[]): DurableProgram {
    const body = (step: DurableStep): Steps<void> => this.body(step, parts);
    const seen = (): string => JSON.stringify(this.seen);
    return async function* (step) {
      yield* body(step);
      return seen();
    };
  }

  async *body(step: DurableStep, parts: readonly Part[]): Steps<void> {
    for (const each of parts) yield* this.part(step, each);
  }

  async *part(step: DurableStep, each: Part): Steps<void> {
    if (each.do === "step") {
      const { attempts, isLong } = each.retry;
      const retry = { attempts, backoff: isLong ? "1h" : 0 };
      const work = () => this.work(each.returns, 0, each.fails);
      this.seen.push(yield* step(each.role, work, { retry }));
    } else if (each.do === "sleep") {
      yield* step.sleep(each.ms);
    } else if (each.do === "wait") {
      this.seen.push((yield* step.wait(each.what)).value);
    } else if (each.do === "loop") {
      for (let i = 0; i < each.times; i++) yield* this.body(step, each.body);
    } else if (each.do === "all") {
      this.seen.push(yield* this.all(step, each));
    } else {
      try {
        yield* this.body(step, each.body);
      } catch (error) {
        this.seen.push((error as Error).message);
      }
    }
  }

  all(step: DurableStep, { members, named }: Part & { do: "all" }): StepCall<unknown> {
    const work = (i: number) => (): Promise<unknown> =>
      this.work(i, members[i]?.ticks ?? 0, members[i]?.fails ?? false);
    const retry = { attempts: 2, backoff: 0 };
    if (!named) {
      return step.all(members.map((member, i) => step(member.role, work(i), { retry })));
    }
    return step.all(Object.fromEntries(members.map((member, i) => [member.role, work(i)])));
  }

  async work(returns: unknown, ticks: number, bad: boolean): Promise<unknown> {
    this.ran += 1;
    for (let i = 0; i < ticks; i++) await Promise.resolve();
    if (bad) throw new Error(`failed: ${JSON.stringify(returns)}`);
    return returns;
  }
}

const workSteps = (steps: readonly Step[]): Step[] =>
  steps.filter((step) => !step.role.startsWith("__"));
const ending = (outcome: ThreadOutcome): object => ({ ...outcome, steps: [], error: null });
/** Answers by the question's name, so that answers do not depend on the point of resume. */
const answers = (wait: Step): string => JSON.stringify(wait.meta.for);
const options = { answers, maxRounds: 1000, now: () => 0 };

test("any program, interrupted anywhere, reaches the same end without repeating committed steps", async () => {
  await fc.assert(
    fc.asyncProperty(programs, fc.double({ min: 0, max: 1, noNaN: true }), async (parts, where) => {
      const first = new Interpreter();
      const whole = await run(first.program(parts), options);
      const cut = Math.round(whole.steps.length * where);
      const again = new Interpreter();
      const resumed = await run(again.program(parts), {
        ...options,
        steps: whole.steps.slice(0, cut),
      });
      expect(ending(resumed)).toEqual(ending(whole));
      expect(again.seen).toEqual(first.seen);
      expect(resumed.steps.slice(0, cut)).toEqual(whole.steps.slice(0, cut));
      expect(resumed.steps).toHaveLength(whole.steps.length);
      const committed = workSteps(whole.steps.slice(0, cut)).length;
      expect(again.ran).toBeLessThanOrEqual(first.ran - committed);
    }),
    { numRuns: 500 },
  );
});

test("any program with a changed role in its log stops at the changed step and does not yield", async () => {
  await fc.assert(
    fc.asyncProperty(programs, fc.nat(), async (parts, at) => {
      const whole = await run(new Interpreter().program(parts), options);
      fc.pre(whole.steps.length > 0);
      const steps = whole.steps.slice(0, (at % whole.steps.length) + 1);
      const last = steps.length - 1;
      steps[last] = { role: "another", content: "", meta: {}, timestamp: 0 };
      const again = new Interpreter();
      const resumed = await run(again.program(parts), { ...options, steps });
      expect(resumed).toMatchObject({ status: "failed", error: { code: "DIVERGED" } });
      expect(resumed.steps).toEqual(steps);
      expect(again.ran).toBe(0);
    }),
    { numRuns: 300 },
  );
});
