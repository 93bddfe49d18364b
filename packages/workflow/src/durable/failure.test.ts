import { describe, expect, test } from "bun:test";
import type { DurableProgram } from "./durable.ts";
import { StepFailure } from "./output.ts";
import { roles, run, summary, text } from "../testing/run-thread.ts";

describe("a step that fails", () => {
  test("and is not caught ends the thread with its own error, without a step in the log", async () => {
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

  test("and is caught is in the log, and a replay catches the same error", async () => {
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

  const cyclic: Record<string, unknown> = { status: 500 };
  cyclic.self = cyclic;
  class Response2 {
    status = 404;
  }
  const hostile = new Proxy(
    {},
    {
      get: () => {
        throw new Error("no");
      },
    },
  );
  const thrownValues: [thrown: unknown, shown: string][] = [
    [{ code: "PGRST116", message: "0 rows" }, "Error PGRST116: 0 rows"],
    [{ name: "HttpError", code: 404, message: "gone" }, "HttpError 404: gone"],
    [Object.assign(new Error("aborted"), { code: 10 }), "Error 10: aborted"],
    [{ error: { message: "busy" } }, 'Error undefined: {"error":{"message":"busy"}}'],
    [Object.assign(new Error(), { message: { a: 1 } }), 'Error undefined: {"message":{"a":1}}'],
    [Object.create(null), "Error undefined: an object was thrown"],
    [new Response2(), 'Error undefined: {"status":404}'],
    [cyclic, "Error undefined: an object with the keys status, self was thrown"],
    [[{ code: 1 }], 'Error undefined: [{"code":1}]'],
    [{ toString: () => "own words" }, "Error undefined: own words"],
    ["text", "Error undefined: text"],
    [null, "Error undefined: null"],
    [hostile, "Error undefined: a value that can't be shown was thrown"],
  ];
  for (const [thrown, shown] of thrownValues) {
    test(`with a value that is not an error has its name, code and message: ${shown}`, async () => {
      const program: DurableProgram = async function* (step) {
        try {
          yield* step("a", () => Promise.reject(thrown));
        } catch (error) {
          const { name, code, message } = error as StepFailure;
          yield* step("b", () => "");
          return `${name} ${code}: ${message}`;
        }
        return "";
      };
      const outcome = await run(program);
      expect(summary(outcome)).toBe(shown);
      const { steps } = outcome;
      expect(summary(await run(program, { steps }))).toBe(shown);
    });
  }

  test("with a plain object is retried by its code", async () => {
    let calls = 0;
    const program: DurableProgram = async function* (step) {
      const work = () => {
        calls += 1;
        return calls < 3 ? Promise.reject({ code: 429, message: "slow down" }) : `after ${calls}`;
      };
      return yield* step("a", work, { retry: { attempts: 3, backoff: 0, on: ["429"] } });
    };
    expect(summary(await run(program))).toBe("after 3");
  });
});
