import { describe, expect, test } from "bun:test";
import { INPUT, type RoleOutput, WAIT } from "../contract/contract.ts";
import type { DurableProgram } from "./durable.ts";
import { run, text } from "../testing/run-thread.ts";

describe("a replay that differs from the log", () => {
  const log = [text("planner", ""), text("coder", ""), text("tester", "")];
  const way = (...names: string[]): DurableProgram =>
    async function* (step) {
      for (const name of names) yield* step(name, () => "new");
      return "end";
    };
  async function divergence(program: DurableProgram, steps: RoleOutput[] = log): Promise<string> {
    const outcome = await run(program, { steps });
    expect(outcome.steps).toHaveLength(steps.length);
    expect("error" in outcome && outcome.error).toMatchObject({ code: "DIVERGED" });
    return "message" in outcome ? outcome.message : "";
  }

  test("stops with an error that names both roles and the step, and does not yield", async () => {
    expect(await divergence(way("planner", "reviewer", "tester"))).toBe(
      'step 2 of the log is "coder", but the workflow came to "reviewer"',
    );
    expect(await divergence(way("coder", "planner"))).toContain('step 1 of the log is "planner"');
  });

  test("stops when it ends before the log does", async () => {
    expect(await divergence(way("planner"))).toBe(
      'step 2 of the log is "coder", but the workflow ended',
    );
  });

  test("stops in a step.all whose steps are not in the log", async () => {
    const program: DurableProgram = async function* (step) {
      yield* step.all({ planner: () => "", reader: () => "", critic: () => "" });
      return "";
    };
    expect(await divergence(program)).toBe(
      'step 2 of the log is "coder", but the workflow came to one of "reader", "critic"',
    );
  });

  test("stops at a different or missing question", async () => {
    const asking: DurableProgram = async function* (step) {
      yield* step.wait("colour");
      return "";
    };
    const asked = (what: string): RoleOutput => ({ role: WAIT, content: "", meta: { for: what } });
    const given = (what: string): RoleOutput => ({ role: INPUT, content: "", meta: { for: what } });
    expect(await divergence(asking)).toContain('is "planner", but the workflow waits for "colour"');
    expect(await divergence(asking, [asked("price"), given("price")])).toBe(
      'step 1 of the log is "__wait__" for "price", but the workflow waits for "colour"',
    );
    expect(await divergence(asking, [asked("colour"), given("price")])).toContain("step 2 of the");
    expect(await divergence(asking, [asked("colour"), text("coder", "")])).toContain(
      "step 2 of the",
    );
    expect(await divergence(way("planner"), [asked("price"), given("price")])).toContain(
      'is "__wait__" for "price", but the workflow came to "planner"',
    );
  });

  test("stops even when the workflow catches the error and continues", async () => {
    let ran = 0;
    const stubborn: DurableProgram = async function* (step) {
      for (const name of ["x", "planner", "coder", "tester", "y"]) {
        try {
          yield* step(name, () => {
            ran += 1;
            return "";
          });
        } catch {
          // The workflow ignores the error.
        }
      }
      yield text("plain", "");
      return "end";
    };
    expect(await divergence(stubborn)).toContain('but the workflow came to "x"');
    const rethrowing: DurableProgram = async function* (step) {
      try {
        yield* step("x", () => "");
      } catch (cause) {
        throw new Error("wrapped", { cause });
      }
      return "";
    };
    expect(await divergence(rethrowing)).toContain('but the workflow came to "x"');
    expect(ran).toBe(0);
  });
});
