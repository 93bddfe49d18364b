import { describe, expect, test } from "bun:test";
import { changesOf } from "./changes.ts";

const planner = { description: "plans", schema: { type: "object" } };
const before = { description: "reviews", maxRounds: 5, roles: { planner, tester: planner } };

describe("the changes between two descriptors", () => {
  test("are empty for equal descriptors", () => {
    expect(changesOf(before, structuredClone(before))).toEqual([]);
  });

  test("are listed by description, limits and roles", () => {
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
      { kind: "renamed", what: "role", before: "tester", after: "coder" },
    ]);
  });

  test("are an addition and a removal if nothing was renamed", () => {
    const after = { ...before, roles: { planner, coder: { ...planner, description: "codes" } } };
    expect(changesOf(before, after)).toEqual([
      { kind: "removed", what: "role tester" },
      { kind: "added", what: "role coder" },
    ]);
  });

  test("are listed step by step for a step workflow", () => {
    const of = (steps: object[]) => ({
      ...before,
      stepWorkflow: { version: "3.18", document: JSON.stringify({ name: "a", steps }) },
    });
    const changes = changesOf(
      of([{ id: "Set_A", value: 1 }, { id: "Stop_B" }, { id: "Noop_D", next: "RETURN" }]),
      of([{ id: "Set_A", value: 2 }, { id: "Stop_C" }, { id: "Noop_E", next: "Stop_C" }]),
    );
    expect(changes.map(({ kind, what }) => `${kind} ${what}`)).toEqual([
      "changed step Set_A",
      "removed step Noop_D",
      "renamed step",
      "added step Noop_E",
    ]);
  });
});
