import { describe, expect, test } from "bun:test";
import { addUsage, noUsage } from "@uncaged/workflow/interpreter";
import { AttemptLog } from "@uncaged/workflow/records";
import type { Usage } from "@uncaged/workflow";
import fc from "fast-check";
import { addTally, ledgerOf, ledgerOfSteps, noTally, type Tally } from "./ledger.ts";

const used = (input_tokens: number, output_tokens = 0): Usage => ({
  ...noUsage,
  input_tokens,
  output_tokens,
});
const step = (role: string, model: string, usage: Usage, cost: number | null) => ({
  role,
  meta: { usage, model, cost },
});

describe("a ledger", () => {
  const steps = [
    step("planner", "big", used(100, 10), 0.1),
    { role: "__wait__", meta: { for: "approval" } },
    step("coder", "big", used(200, 20), 0.2),
    step("coder", "house", used(50), null),
  ];

  test("sums by role, by model and in total", () => {
    const { total, roles, models } = ledgerOfSteps(steps);
    expect(total).toEqual({ usage: used(350, 30), tokens: 380, cost: 0.3, unpriced: 1 });
    expect(roles.coder).toEqual({ usage: used(250, 20), tokens: 270, cost: 0.2, unpriced: 1 });
    expect(models.big).toMatchObject({ tokens: 330, cost: 0.3, unpriced: 0 });
    expect(models.house).toMatchObject({ tokens: 50, cost: 0, unpriced: 1 });
  });

  test("lists each attempt with spending", () => {
    expect(ledgerOfSteps(steps).attempts).toMatchObject([
      { step: 1, role: "planner", model: "big", kind: "own", tokens: 110 },
      { step: 3, role: "coder", model: "big", tokens: 220 },
      { step: 4, role: "coder", model: "house", cost: 0, unpriced: 1 },
    ]);
  });

  test("counts steps that a fork copied only as saved", () => {
    const { total, saved, roles, models } = ledgerOfSteps(steps, 3);
    expect(saved).toMatchObject({ tokens: 330, cost: 0.3 });
    expect(total).toMatchObject({ tokens: 50, unpriced: 1 });
    expect(Object.keys(roles)).toEqual(["coder"]);
    expect(Object.keys(models)).toEqual(["house"]);
  });

  test("keeps the models of one step separate", () => {
    const models = { big: { usage: used(10), cost: 1 }, house: { usage: used(5), cost: null } };
    const meta = { usage: used(15), model: "house", cost: null, models };
    const { total, models: each } = ledgerOfSteps([{ role: "a", meta }]);
    expect(each.big).toMatchObject({ tokens: 10, cost: 1 });
    expect(each.house).toMatchObject({ tokens: 5, unpriced: 1 });
    expect(total).toMatchObject({ tokens: 15, cost: 1, unpriced: 1 });
  });

  test("accepts a cost without tokens, and ignores invalid numbers", () => {
    const odd = { usage: { input_tokens: "9", output_tokens: -1 }, cost: 0.5, model: 7 };
    expect(ledgerOfSteps([{ role: "a", meta: odd }]).total).toMatchObject({ tokens: 0, cost: 0.5 });
    for (const meta of [
      {},
      { usage: null },
      { usage: [], cost: "1" },
      { usage: 7, cost: Number.NaN },
    ]) {
      expect(ledgerOfSteps([{ role: "a", meta }])).toMatchObject({ total: noTally, attempts: [] });
    }
  });

  test("supports a role that is named `__proto__`", () => {
    const { roles } = ledgerOfSteps([step("__proto__", "m", used(1), 1)]);
    expect(Object.keys(roles)).toEqual(["__proto__"]);
  });
});

test("has equal sums over roles, models and attempts", () => {
  const amount = fc.nat(1_000_000);
  const usage = fc.record({
    input_tokens: amount,
    output_tokens: amount,
    thinking_tokens: amount,
    cache_read_tokens: amount,
    cache_write_tokens: amount,
  });
  const cost = fc.option(fc.integer({ min: 0, max: 10_000 }).map((c) => c / 100));
  const part = fc.record({ usage, cost });
  const name = fc.constantFrom("a", "b", "c");
  const plain = fc.record({ usage, cost, model: name });
  const split = fc.dictionary(name, part, { minKeys: 2 }).map((models) => ({
    models,
    model: "a",
    cost: null,
    usage: Object.values(models).reduce((sum, one) => addUsage(sum, one.usage), noUsage),
  }));
  const meta = fc.oneof(plain, split, fc.constant({}));
  const thread = fc.array(fc.record({ role: name, meta }));
  const close = (a: Tally, b: Tally) => {
    expect({ ...a, cost: Math.round(a.cost * 100) }).toEqual({
      ...b,
      cost: Math.round(b.cost * 100),
    });
  };
  fc.assert(
    fc.property(thread, fc.nat(10), (steps, saved) => {
      const ledger = ledgerOfSteps(steps, saved);
      const sum = (tallies: Tally[]) =>
        tallies.reduce((a, { usage: u, tokens, cost: c, unpriced }) => {
          return addTally(a, { usage: u, tokens, cost: c, unpriced });
        }, noTally);
      close(sum(Object.values(ledger.roles)), ledger.total);
      close(sum(Object.values(ledger.models)), ledger.total);
      close(sum(ledger.attempts.filter(({ kind }) => kind === "own")), ledger.total);
      close(sum(ledger.attempts.filter(({ kind }) => kind === "saved")), ledger.saved);
      close(addTally(ledger.total, ledger.saved), ledgerOfSteps(steps).total);
    }),
  );
});

/** Builds the events of an attempt, in order. */
class Events {
  readonly log = new AttemptLog();
  #seq = 0;

  add(attempt: string | undefined, type: string, payload: Record<string, unknown>): this {
    const at = { seq: (this.#seq += 1), timestamp: this.#seq, stepID: "coder" };
    this.log.event({ ...at, type, payload, ...(attempt !== undefined && { attempt }) });
    return this;
  }

  start(attempt: string, role: string | null, parent?: string): this {
    return this.add(attempt, "attempt_start", { role, ...(parent !== undefined && { parent }) });
  }

  call(attempt: string, input: number, state = "whole", call_id = `${attempt}${input}`): this {
    const call = { call_id, model: "m" };
    const reported = { ...call, usage: used(input), cost_usd: input / 100, state };
    return this.add(attempt, "llm_start", call).add(attempt, "llm_usage", reported);
  }

  step(number: number, role: string, attempt: string, meta: Record<string, unknown> = {}): this {
    this.log.step(number, { role, content: "", meta, timestamp: (this.#seq += 1), attempt });
    return this;
  }

  get ledger() {
    return ledgerOf(this.log.attempts);
  }
}

describe("of attempts", () => {
  const spent = (input: number) => ({ usage: used(input), model: "m", cost: input / 100 });

  test("counts a committed attempt once, by the spending in its step", () => {
    const { ledger } = new Events()
      .start("a", "coder")
      .call("a", 7)
      .step(1, "coder", "a", spent(7));
    expect([ledger.total.tokens, ledger.lost.tokens, ledger.unknown]).toEqual([7, 0, 0]);
  });

  test("counts the calls of an attempt whose step does not record spending", () => {
    const { ledger } = new Events().start("a", "mine").call("a", 5).step(1, "mine", "a");
    expect(ledger.attempts).toMatchObject([{ step: 1, role: "mine", kind: "own", tokens: 5 }]);
  });

  test("counts the calls of an attempt that was lost with a killed worker, in addition to the next attempt", () => {
    const { ledger } = new Events()
      .start("a", "coder")
      .call("a", 5)
      .call("a", 3, "open")
      .add(undefined, "worker_start", { pid: 1, steps: 0 })
      .start("b", "coder")
      .call("b", 7)
      .step(1, "coder", "b", spent(7));
    expect(ledger.lost).toMatchObject({ tokens: 8, cost: 0.08, unpriced: 0 });
    expect([ledger.total.tokens, ledger.unknown, ledger.roles.coder?.tokens]).toEqual([15, 1, 15]);
  });

  test("counts a failed attempt by the spending of its role, even without a published call", () => {
    const { ledger } = new Events()
      .start("a", "coder")
      .add("a", "step_error", { error: "no", spent: spent(9) })
      .add("a", "attempt_end", { outcome: "failed" });
    expect([ledger.total.tokens, ledger.lost.tokens]).toEqual([9, 9]);
  });

  test("counts a running attempt only when it has ended", () => {
    const events = new Events().start("a", "coder").call("a", 5).start("b", "coder", "a");
    events.call("b", 3).add("b", "attempt_end", { outcome: "committed" });
    expect(events.ledger.total.tokens).toBe(0);
    expect(events.step(1, "coder", "a").ledger.total.tokens).toBe(8);
  });

  test("counts the attempts of called roles separately, unless the caller's step records their spending", () => {
    const team = () =>
      new Events()
        .start("a", "team")
        .start("b", "coder", "a")
        .start("c", null, "a")
        .call("b", 3)
        .call("c", 4)
        .add("b", "attempt_end", { outcome: "committed" })
        .add("c", "attempt_end", { outcome: "failed" });
    const { ledger } = team().step(1, "team", "a");
    expect(ledger.attempts.map(({ role, kind }) => [role, kind])).toEqual([
      ["coder", "own"],
      ["team", "own"],
    ]);
    expect(ledger.total.tokens).toBe(7);
    expect(team().step(1, "team", "a", spent(7)).ledger.attempts).toMatchObject([{ tokens: 7 }]);
  });
});
