import { describe, expect, test } from "bun:test";
import { changesOf } from "./changes.ts";

const planner = { description: "plans", schema: { type: "object" } };
const before = { description: "reviews", maxRounds: 5, roles: { planner, tester: planner } };

describe("what changed between two descriptors", () => {
  test("is nothing when they are alike", () => {
    expect(changesOf(before, structuredClone(before))).toEqual([]);
  });

  test("is listed by description, limits and roles", () => {
    const after = {
      description: "reviews well",
      input: { type: "object" },
      roles: { planner: { ...planner, description: "plans all" }, coder: planner },
    };
    expect(changesOf(before, after)).toMatchObject([
      { kind: "changed", what: "description", before: "reviews", after: "reviews well" },
      { kind: "removed", what: "maxRounds" },
      { kind: "added", what: "input" },
      { kind: "changed", what: "role planner" },
      { kind: "removed", what: "role tester" },
      { kind: "added", what: "role coder" },
    ]);
  });

  test("is listed step by step for a step workflow", () => {
    const of = (steps: object[]) => ({
      ...before,
      stepWorkflow: { version: "3.18", document: JSON.stringify({ name: "a", steps }) },
    });
    const changes = changesOf(
      of([{ id: "Set_A", value: 1 }, { id: "Stop_B" }]),
      of([{ id: "Set_A", value: 2 }, { id: "Stop_C" }]),
    );
    expect(changes.map(({ kind, what }) => `${kind} ${what}`)).toEqual([
      "changed step Set_A",
      "removed step Stop_B",
      "added step Stop_C",
    ]);
  });
});
