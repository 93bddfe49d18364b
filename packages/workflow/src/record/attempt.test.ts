import { expect, test } from "bun:test";
import { type Attempt, nestedAttempts } from "./attempt.ts";

type Made = { attempt: string; parent?: string; step?: number; at?: number };

const tree = (made: readonly Made[]): string[] => {
  const attempts = made.map(({ attempt, parent = null, step = null, at = 0 }) => {
    return { attempt, parent, step, startedAt: at } as Attempt;
  });
  return nestedAttempts(attempts, (one) => one).map(
    ({ one, depth }) => "  ".repeat(depth) + one.attempt,
  );
};

test("calls of an attempt are below it, in the order of their starts", () => {
  expect(
    tree([
      { attempt: "checker", parent: "writer", at: 4 },
      { attempt: "writer", parent: "lead", at: 3 },
      { attempt: "reader", parent: "lead", at: 1 },
      { attempt: "lead", step: 1 },
      { attempt: "coder", step: 2 },
    ]),
  ).toEqual(["lead", "  reader", "  writer", "    checker", "coder"]);
});

test("an attempt keeps its place if it has its own step or no known caller", () => {
  const made = [
    { attempt: "item", parent: "loop", step: 1 },
    { attempt: "lost", parent: "gone" },
    { attempt: "loop", step: 2 },
  ];
  expect(tree(made)).toEqual(["item", "lost", "loop"]);
});

test("an attempt that contains itself in a foreign log is listed once", () => {
  const made = [
    { attempt: "a", parent: "b" },
    { attempt: "b", parent: "a" },
    { attempt: "c", parent: "c" },
  ];
  expect(tree(made)).toEqual(["c", "a", "  b"]);
});
