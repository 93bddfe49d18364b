import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { addUsage, noUsage, type Usage } from "../run/usage.ts";
import { ledgerOf } from "./ledger.ts";
import { addTally, noTally, type Tally } from "./tally.ts";

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

  test("sums by role, by model and in all", () => {
    const { total, roles, models } = ledgerOf(steps);
    expect(total).toEqual({ usage: used(350, 30), tokens: 380, cost: 0.3, unpriced: 1 });
    expect(roles.coder).toEqual({ usage: used(250, 20), tokens: 270, cost: 0.2, unpriced: 1 });
    expect(models.big).toMatchObject({ tokens: 330, cost: 0.3, unpriced: 0 });
    expect(models.house).toMatchObject({ tokens: 50, cost: 0, unpriced: 1 });
  });

  test("names each step that spent anything", () => {
    expect(ledgerOf(steps).steps).toMatchObject([
      { number: 1, role: "planner", model: "big", kind: "own", tokens: 110 },
      { number: 3, role: "coder", model: "big", tokens: 220 },
      { number: 4, role: "coder", model: "house", cost: 0, unpriced: 1 },
    ]);
  });

  test("counts what a fork brought along as saved, and nowhere else", () => {
    const { total, saved, roles, models } = ledgerOf(steps, 3);
    expect(saved).toMatchObject({ tokens: 330, cost: 0.3 });
    expect(total).toMatchObject({ tokens: 50, unpriced: 1 });
    expect(Object.keys(roles)).toEqual(["coder"]);
    expect(Object.keys(models)).toEqual(["house"]);
  });

  test("counts what a failed step had spent as lost", () => {
    const kept = { role: "coder", raw: "…", usage: used(7), model: "big", cost: 0.01 };
    const end = { meta: { returnCode: 1, error: { name: "E", step: 5, kept } } };
    const { total, steps: each } = ledgerOf(steps, 4, end);
    expect(total).toMatchObject({ tokens: 7, cost: 0.01 });
    expect(each.at(-1)).toMatchObject({ number: 5, role: "coder", kind: "lost" });
  });

  test("tells the models of one step apart", () => {
    const models = { big: { usage: used(10), cost: 1 }, house: { usage: used(5), cost: null } };
    const meta = { usage: used(15), model: "house", cost: null, models };
    const { total, models: each } = ledgerOf([{ role: "a", meta }]);
    expect(each.big).toMatchObject({ tokens: 10, cost: 1 });
    expect(each.house).toMatchObject({ tokens: 5, unpriced: 1 });
    expect(total).toMatchObject({ tokens: 15, cost: 1, unpriced: 1 });
  });

  test("takes a cost without tokens, and no notice of what is no number", () => {
    const odd = { usage: { input_tokens: "9", output_tokens: -1 }, cost: 0.5, model: 7 };
    expect(ledgerOf([{ role: "a", meta: odd }]).total).toMatchObject({ tokens: 0, cost: 0.5 });
    for (const meta of [
      {},
      { usage: null },
      { usage: [], cost: "1" },
      { usage: 7, cost: Number.NaN },
    ]) {
      expect(ledgerOf([{ role: "a", meta }])).toMatchObject({ total: noTally, steps: [] });
    }
  });

  test("of a role that is called __proto__ is a ledger", () => {
    const { roles } = ledgerOf([step("__proto__", "m", used(1), 1)]);
    expect(Object.keys(roles)).toEqual(["__proto__"]);
  });
});

test("roles, models and steps each sum up to all that was spent", () => {
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
      const ledger = ledgerOf(steps, saved);
      const sum = (tallies: Tally[]) =>
        tallies.reduce((a, { usage: u, tokens, cost: c, unpriced }) => {
          return addTally(a, { usage: u, tokens, cost: c, unpriced });
        }, noTally);
      close(sum(Object.values(ledger.roles)), ledger.total);
      close(sum(Object.values(ledger.models)), ledger.total);
      close(sum(ledger.steps.filter(({ kind }) => kind === "own")), ledger.total);
      close(sum(ledger.steps.filter(({ kind }) => kind === "saved")), ledger.saved);
      close(addTally(ledger.total, ledger.saved), ledgerOf(steps).total);
    }),
  );
});
