import { describe, expect, test } from "bun:test";
import { problemsIn, startOf } from "./start-dialog.tsx";

describe("the request that starts a thread", () => {
  test("leaves empty fields out", () => {
    expect(startOf("greet", "you", undefined, { maxRounds: "", maxCost: " " })).toEqual({
      workflow: "greet",
      prompt: "you",
    });
  });

  test("has the params and the limits", () => {
    expect(startOf("greet", "", { a: 1 }, { maxRounds: "5", maxCost: "0.5" })).toEqual({
      workflow: "greet",
      prompt: "",
      params: { a: 1 },
      maxRounds: 5,
      options: { maxCost: 0.5 },
    });
  });
});

describe("a limit", () => {
  test("must be a valid number", () => {
    expect(Object.keys(problemsIn({ maxRounds: "1.5", maxCost: "-1" }))).toEqual([
      "maxRounds",
      "maxCost",
    ]);
    expect(problemsIn({ maxRounds: "10", maxCost: "0.01" })).toEqual({});
  });
});
