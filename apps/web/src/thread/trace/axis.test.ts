import { expect, test } from "bun:test";
import { axisOf, ticksOf, without } from "./axis.ts";
import { leaf, type TraceRow } from "./nodes.ts";

const row = (
  kind: TraceRow["kind"],
  startedAt: number | null,
  endedAt: number | null,
  more: Partial<TraceRow> = {},
): TraceRow => ({ ...leaf(`${kind}-${startedAt}`, kind, kind), startedAt, endedAt, ...more });

test("working time is to scale, also around a question that is open for long", () => {
  const axis = axisOf(
    [row("attempt", 0, 600), row("question", 600, 9_000_600), row("attempt", 9_000_600, 9_001_000)],
    9_001_000,
  );
  expect(axis?.workMs).toBe(1_000);
  const notch = axis?.notches[0];
  expect(notch).toMatchObject({ ms: 9_000_000, reason: "Waited for an answer" });
  const scale = (axis?.at(600) ?? 0) / 600;
  expect((1 - (axis?.at(9_000_600) ?? 0)) / 400).toBeCloseTo(scale);
  expect((notch?.to ?? 0) - (notch?.at ?? 0)).toBeLessThan(0.05);
});

test("a question in an attempt, and its answer, do not stretch the attempt's bar", () => {
  const axis = axisOf(
    [
      row("attempt", 0, 10_100, { id: "A" }),
      row("question", 50, 10_050, { parent: "A" }),
      row("attempt", 10_100, 10_200),
    ],
    10_200,
  );
  expect(axis?.workMs).toBe(200);
  expect(without({ from: 0, to: 10_100 }, [{ from: 50, to: 10_050 }])).toEqual([
    { from: 0, to: 50 },
    { from: 10_050, to: 10_100 },
  ]);
});

test("a wait in one attempt does not shorten the axis while another attempt works", () => {
  const axis = axisOf(
    [
      row("attempt", 0, 5_000, { id: "A" }),
      row("wait", 100, 4_900, { parent: "A" }),
      row("attempt", 0, 5_000, { id: "B" }),
    ],
    5_000,
  );
  expect(axis?.notches).toEqual([]);
  expect(axis?.workMs).toBe(5_000);
});

test("many waits take only a part of the axis, and a running attempt lasts until now", () => {
  const rows = Array.from({ length: 100 }, (_, at) => [
    row("attempt", at * 10_000, at * 10_000 + 10),
    row("pause", at * 10_000 + 10, at * 10_000 + 10_000),
  ]).flat();
  const running = row("attempt", 1_000_000, null, { status: "running" });
  const axis = axisOf([...rows, running], 1_000_500);
  const taken = axis?.notches.reduce((sum, { at, to }) => sum + to - at, 0) ?? 1;
  expect(taken).toBeLessThan(0.35);
  expect(axis?.at(1_000_500)).toBeCloseTo(1);
  expect(axis?.workMs).toBe(1_500);
});

test("the axis starts at its first attempts, also if they took no time", () => {
  const axis = axisOf([row("attempt", 0, 0), row("attempt", 5, 5), row("attempt", 9, 30)], 30);
  expect(axis?.atWork(0)).toBe(0);
  expect(axis?.atWork(21)).toBeCloseTo(1);
});

test("copied attempts and attempts without a known start are not on the axis", () => {
  expect(
    axisOf([row("attempt", 0, 9, { status: "copied" }), row("attempt", null, 20)], 30),
  ).toBeNull();
});

test("the ticks are round and few", () => {
  expect(ticksOf(4_600, 5)).toEqual([0, 1_000, 2_000, 3_000, 4_000]);
  expect(ticksOf(0, 5)).toEqual([0]);
});
