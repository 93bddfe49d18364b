import { describe, expect, test } from "bun:test";
import { noUsage, type Usage } from "../run/usage.ts";
import { ledgerOf, type LedgerStep } from "./ledger.ts";
import type { LedgerRecord } from "./runs.ts";

const used = (input_tokens: number): Usage => ({ ...noUsage, input_tokens });
const spentOn = (input: number, cost: number | null = input / 100) => ({
  usage: used(input),
  model: "m",
  cost,
});
const stepOf = (role: string, input: number): LedgerStep => ({ role, meta: spentOn(input) });

const driven: LedgerRecord = { tag: "E9K2TNWD" };
const event = (type: string, step: number, payload: object, stepID = "coder#1"): LedgerRecord => ({
  ...{ tag: "QK4DX8TM", type, stepID, step, payload },
});
type Made = { role?: string; state?: "open" | "whole" | "broken"; cost?: number | null };
/** A call of a run, with what was told of it; null when nothing was. */
const call = (
  run: string | null,
  step: number,
  input: number | null,
  { role = "coder", state = "whole", cost = input === null ? null : input / 100 }: Made = {},
): LedgerRecord[] => {
  const ids = { call_id: `${run}${step}${input}`, run_id: run, model: "m" };
  const told = { ...ids, usage: used(input ?? 0), cost_usd: cost, state };
  const start = event("llm_start", step, ids, `${role}#1`);
  return input === null ? [start] : [start, event("llm_usage", step, told, `${role}#1`)];
};
const done = (run: string, step: number, input: number, type = "step_done"): LedgerRecord =>
  event(type, step, { run_id: run, spent: spentOn(input) });
const ledger = (steps: LedgerStep[], records: LedgerRecord[], isLive = false) =>
  ledgerOf(steps, 0, null, { records, isLive });

describe("a run of a role", () => {
  test("whose step is committed counts once", () => {
    const { total, lost, unknown } = ledger(
      [stepOf("coder", 7)],
      [driven, ...call("a", 1, 7), done("a", 1, 7)],
    );
    expect([total.tokens, lost.tokens, unknown]).toEqual([7, 0, 0]);
  });

  test("that was broken off counts with what its calls told, beside the one that came after", () => {
    const first = [driven, ...call("a", 1, 5), ...call("a", 1, 3, { state: "open" })];
    const again = [driven, ...call("b", 1, 7), done("b", 1, 7)];
    const { total, lost, unknown, steps, roles } = ledger(
      [stepOf("coder", 7)],
      [...first, ...again],
    );
    expect(lost).toMatchObject({ usage: used(8), tokens: 8, cost: 0.08, unpriced: 0 });
    expect([total.tokens, unknown, roles.coder?.tokens]).toEqual([15, 1, 15]);
    expect(steps.map(({ kind, number, tokens }) => [kind, number, tokens])).toEqual([
      ["own", 1, 7],
      ["lost", 1, 8],
    ]);
  });

  test("of which nothing was told is unknown, and no number is made up for it", () => {
    const { total, unknown, steps } = ledger([], [driven, ...call("a", 1, null)]);
    expect([total.tokens, total.unpriced, unknown, steps.length]).toEqual([0, 0, 1, 0]);
  });

  test("that ended and was not committed counts as it ended, though it had no call of ours", () => {
    expect(ledger([], [driven, done("a", 1, 9)]).lost.tokens).toBe(9);
  });

  test("that failed counts once, where the end record keeps what it spent", () => {
    const kept = { role: "coder", ...spentOn(7) };
    const end = { meta: { error: { kept } } };
    const beside = call("b", 1, 4, { role: "tester", state: "open" });
    const records = [...call("a", 1, 7), ...beside, done("a", 1, 7, "step_error")];
    const { total, unknown } = ledgerOf([], 0, end, { records, isLive: false });
    expect([total.tokens, unknown]).toEqual([11, 1]);
  });

  test("that a worker is at is not lost, and what it did before it failed is", () => {
    const before = [driven, ...call("a", 1, 5, { state: "open" })];
    const now = [driven, ...call("b", 1, 7, { state: "open" })];
    const running = ledger([], [...before, ...now], true);
    expect([running.total.tokens, running.unknown]).toEqual([5, 1]);
    const committing = ledger([], [...now, done("b", 1, 7)], true);
    expect([committing.total.tokens, committing.unknown]).toEqual([0, 0]);
    expect(ledger([], [...now, done("b", 1, 7, "step_error")], true).lost.tokens).toBe(7);
  });

  test("counts apart what it has begun and did not wait for", () => {
    const stray = call("a", 1, 3, { state: "open" });
    const late = call("a", 1, 4);
    const records = [...call("a", 1, 7), ...stray, done("a", 1, 7), ...late];
    const { total, lost, unknown } = ledger([stepOf("coder", 7)], [driven, ...records]);
    expect([total.tokens, lost.tokens, unknown]).toEqual([14, 7, 1]);
  });

  test("that broke a call off and went on has told what it knows of it", () => {
    const broken = call("a", 1, 3, { state: "broken" });
    const records = [driven, ...broken, ...call("a", 1, 4), done("a", 1, 7)];
    const { total, lost, unknown } = ledger([stepOf("coder", 7)], records);
    expect([total.tokens, lost.tokens, unknown]).toEqual([7, 0, 1]);
  });

  test("whose price is not known leaves the sum's open", () => {
    const { lost } = ledger([], [driven, ...call("a", 1, 5, { cost: null })]);
    expect(lost).toMatchObject({ tokens: 5, cost: 0, unpriced: 1 });
  });

  test("is not taken twice when a step tells of several together", () => {
    const records = [...call("a", 1, 5), done("a", 1, 5), ...call("b", 1, 6), done("b", 1, 6)];
    expect(ledger([stepOf("both", 11)], records).total.tokens).toBe(11);
  });
});

describe("a step that says nothing of what it spent", () => {
  const silent: LedgerStep = { role: "mine", meta: {} };

  test("has what its calls told", () => {
    const { total, lost, steps } = ledger([silent], [driven, ...call(null, 1, 5)]);
    expect([total.tokens, lost.tokens]).toEqual([5, 0]);
    expect(steps).toMatchObject([{ number: 1, role: "mine", kind: "own", tokens: 5 }]);
  });

  test("has what the ends of its calls told, where calls of another make tell no more", () => {
    const usage = { input_tokens: 5 };
    const foreign = event("llm_done", 1, { usage, model: "m", cost_usd: 0.5 });
    expect(ledger([silent], [foreign]).total).toMatchObject({ tokens: 5, cost: 0.5 });
    const ours = [...call(null, 1, 5), foreign];
    expect(ledger([silent], ours).total.tokens).toBe(5);
    const others = [...call("a", 1, 5), { ...foreign, stepID: "a part of it" }];
    expect(ledger([stepOf("coder", 5)], others)).toMatchObject({ total: { tokens: 5 } });
  });

  test("does not have what was broken off before it", () => {
    const records = [driven, ...call(null, 1, 5), driven, ...call(null, 1, 6)];
    expect(ledger([silent], records)).toMatchObject({ total: { tokens: 11 }, lost: { tokens: 5 } });
  });

  test("that asks or answers has none", () => {
    const wait = { role: "__wait__", meta: {} };
    expect(ledger([wait], [driven, ...call(null, 1, 5)]).lost.tokens).toBe(5);
  });
});

test("a debug log that is nonsense tells nothing", () => {
  const records = [
    event("llm_usage", 1, { call_id: 7, usage: used(1) }),
    event("llm_usage", 1, { call_id: "a", run_id: "r", usage: null }),
    { tag: "QK4DX8TM", type: "llm_start", payload: null },
    { tag: "QK4DX8TM", type: "step_done", payload: { run_id: 3 } },
    event("llm_done", 1, { usage: [] }),
  ];
  expect(ledger([], records)).toEqual(ledgerOf([]));
});
