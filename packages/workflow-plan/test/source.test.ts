import { describe, expect, test } from "bun:test";
import { isWorkflowError } from "@uncaged/workflow";
import { ExecutorError, planBundle } from "../src/entry/index.ts";
import { planSource } from "../src/entry/source.ts";
import { isPlan } from "../src/source/source.ts";
import { plan, runPlan, step } from "./parts.ts";

const sound = plan([step("a"), step("b", ["a"])]);

/** Returns the code made from a text, or the error, and the warnings. */
async function made(
  document: unknown,
  file = "p.json",
): Promise<{ error?: string; code?: string }> {
  const text = typeof document === "string" ? document : JSON.stringify(document, null, 1);
  try {
    return { code: (await planSource(() => undefined).module(text, file)).code };
  } catch (error) {
    if (isWorkflowError(error)) return { error: `${error.code} ${error.message}` };
    throw error;
  }
}

describe("a plan's file", () => {
  test("is recognized by its fields, valid or invalid", () => {
    const is = (document: object) => isPlan(JSON.stringify(document), "p.json");
    expect([
      is(sound),
      is({ steps: [], trigger: 1 }),
      is({ steps: null, failure_policy: {} }),
    ]).toEqual([true, true, true]);
    expect([is({ steps: [] }), is({ nodes: [] }), isPlan("{", "p.json")]).toEqual([
      false,
      false,
      false,
    ]);
    expect(isPlan(Bun.YAML.stringify(sound), "p.yaml")).toBe(true);
  });

  test("is refused with line and column, step and field", async () => {
    expect(await made(plan([step("a"), step("b", ["x"])]))).toEqual({
      error: expect.stringMatching(
        /^PLANNER_ERROR p.json:\d+:\d+: step "b": depends_on\[0\]: no step/,
      ),
    });
    const two = await made(plan([step("A"), step("B")]));
    expect(two.error).toEndWith("(and 1 more)");
    for (const [metadata, reason] of [
      [{ cwd: 5 }, "metadata.cwd: must be a string, not 5"],
      [{ container: { timeout: 0 } }, "metadata.container.timeout: must be a whole number from 1"],
      ["x", 'metadata: must be an object, not "x"'],
    ] as const)
      expect((await made({ ...sound, metadata })).error).toContain(reason);
  });

  test("results in the same code for the same definition, regardless of the plan's other fields", async () => {
    const whole = { id: "wf_1", phase: "active", updated_at: "x", ...sound };
    const { code } = await made({ ...whole, metadata: { owner: { channel: "tui" }, more: 1 } });
    expect(code).toBe((await made(sound)).code ?? "");
    expect(code).toBe((await made(Bun.YAML.stringify(sound), "p.yaml")).code ?? "");
    expect((await made({ ...sound, metadata: { cwd: "/src" } })).code).toContain("/src");
  });

  test("warns of references in a description, with line and column", async () => {
    const warnings: string[] = [];
    const own = plan([step("a", [], { description: "see $trigger_data" })]);
    await planSource((warning) => warnings.push(warning)).module(JSON.stringify(own), "p.json");
    expect(warnings).toEqual([expect.stringMatching(/^p.json:1:\d+: step "a": description: /)]);
  });
});

describe("a plan in a program", () => {
  test("may leave out fields with a default", async () => {
    const { failure_policy: _, ...rest } = plan([step("a")]);
    const document = { ...rest, failure_policy: { on_step_failure: "stop" } };
    const outcome = await runPlan(document, { a: new Error("no") });
    expect(outcome.steps.map(({ meta }) => meta.event)).toEqual(["started", "failed"]);
  });

  test("is refused when it cannot run as written", async () => {
    const refused = (document: Parameters<typeof planBundle>[0]) => () => planBundle(document);
    expect(refused(plan([step("a"), step("a")]))).toThrow("two steps have the same id");
    expect(refused(plan([step("__wait__")]))).toThrow("is reserved");
    expect(refused({ ...sound, failure_policy: { on_step_failure: "x" } })).toThrow(ExecutorError);
    const circular = await runPlan(plan([step("a", ["b"]), step("b", ["a"])]));
    expect(circular).toMatchObject({ status: "failed", error: { code: "EXECUTOR_ERROR" } });
  });
});
