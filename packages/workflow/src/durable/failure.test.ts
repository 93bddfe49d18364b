import { describe, expect, test } from "bun:test";
import type { DurableProgram } from "./durable.ts";
import { StepFailure } from "./output.ts";
import { roles, run, summary, text } from "../testing/run-thread.ts";

describe("a step that fails", () => {
  test("and is not caught ends the thread with its own error, and leaves nothing in the log", async () => {
    const error = new RangeError("no\nmodel");
    const program: DurableProgram = async function* (step) {
      yield* step("a", () => "fine");
      yield* step("b", () => Promise.reject(error));
      return "";
    };
    const outcome = await run(program);
    expect(roles(outcome)).toEqual(["a"]);
    expect("error" in outcome && outcome.error).toBe(error);
  });

  test("and is caught stands in the log, and a replay catches the same", async () => {
    let calls = 0;
    const seen: unknown[] = [];
    const program: DurableProgram = async function* (step) {
      for (let attempt = 1; ; attempt++) {
        try {
          const work = (): string => {
            calls += 1;
            if (calls < 3) throw Object.assign(new RangeError(`busy ${calls}`), { code: "E_BUSY" });
            return "got it";
          };
          return yield* step("fetcher", work);
        } catch (error) {
          if (!(error instanceof StepFailure)) throw error;
          seen.push([attempt, error.role, error.name, error.message, error.code]);
        }
      }
    };
    const outcome = await run(program);
    expect(roles(outcome)).toEqual(["fetcher", "fetcher", "fetcher"]);
    const { steps } = outcome;
    expect(summary(await run(program, { steps }))).toBe("got it");
    expect(calls).toBe(3);
    const caught = [
      [1, "fetcher", "RangeError", "busy 1", "E_BUSY"],
      [2, "fetcher", "RangeError", "busy 2", "E_BUSY"],
    ];
    expect(seen).toEqual([...caught, ...caught]);
  });

  test("and is caught before a plain yield is committed before it", async () => {
    const program: DurableProgram = async function* (step) {
      try {
        yield* step("a", () => Promise.reject(new Error("no")));
      } catch {
        yield text("note", "a failed");
      }
      return "went on";
    };
    const outcome = await run(program);
    expect(roles(outcome)).toEqual(["a", "note"]);
    const { steps } = await run(program, { steps: outcome.steps.slice(0, 1) });
    expect(steps).toHaveLength(2);
  });

  test("with something that is no error is a failure like any other", async () => {
    const program: DurableProgram = async function* (step) {
      try {
        yield* step("a", () => Promise.reject({ odd: 1 }));
      } catch (error) {
        return `${(error as Error).name}: ${(error as Error).message}`;
      }
      return "";
    };
    expect(summary(await run(program))).toBe("Error: [object Object]");
  });
});
