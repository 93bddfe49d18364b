import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { referencesIn, resolved } from "../src/reference/reference.ts";

const outputs: Record<string, string> = { a: "A", "a-b": "$steps.a.output $& $$ $1", "": "" };
const values = { outputOf: (id: string) => outputs[id] ?? null, triggerData: "$trigger_data" };

describe("references", () => {
  test.each([
    ["$steps.a.output and $steps.a.output", "A and A"],
    ["$steps.a-b.output", "$steps.a.output $& $$ $1"],
    ["$trigger_data", "$trigger_data"],
    ["$trigger_data_foo $trigger_datax $trigger_data1 $trigger_dataé", null],
    ["$trigger_data.x, ($trigger_data)", "$trigger_data.x, ($trigger_data)"],
    ["$steps.a.output-x$steps.a.output$", "A-xA$"],
    ["$steps.A.output $steps. $steps.a $steps.a.output.x $steps.a.output[0]", null],
    ["$steps.b.output", "null"],
  ])("are resolved in %j", (text, expected) => {
    expect(resolved(text, values)).toBe(expected ?? text);
  });

  test("are resolved at any depth, in lists too, and not in keys", () => {
    const inputs = { "$steps.a.output": [1, null, { x: ["$steps.a.output"] }] };
    expect(resolved(inputs, values)).toEqual({ "$steps.a.output": [1, null, { x: ["A"] }] });
  });

  test("resolve to null when a run has no trigger data", () => {
    expect(resolved("<$trigger_data>", { ...values, triggerData: null })).toBe("<null>");
  });

  test("insert every value unchanged, in one pass, and cut it at 10,240 bytes between two characters", () => {
    const bytes = (text: string): number => new TextEncoder().encode(text).length;
    const pieces = fc.array(fc.constantFrom("x", "ä", "€", "🙂", "$&", "$steps.a.output", "\0"), {
      minLength: 1,
      maxLength: 40,
    });
    fc.assert(
      fc.property(pieces, fc.integer({ min: 1, max: 900 }), (some, times) => {
        const value = some.join("").repeat(times);
        const own = { outputOf: () => value, triggerData: value };
        const found = String(resolved("[$trigger_data|$steps.b.output]", own)).slice(1, -1);
        const half = found.slice(0, (found.length - 1) / 2);
        expect(found).toBe(`${half}|${half}`);
        if (bytes(value) <= 10_240) return expect(half).toBe(value);
        const kept = half.slice(0, -"\n[truncated]".length);
        expect(half).toBe(`${kept}\n[truncated]`);
        expect(value.startsWith(kept)).toBe(true);
        expect(bytes(kept)).toBeWithin(10_237, 10_241);
        return undefined;
      }),
      { numRuns: 300 },
    );
  });

  test("are found with the steps that they name", () => {
    const found = referencesIn("$steps.a-1.output, $trigger_data, $steps.x");
    expect(found).toEqual([{ text: "$steps.a-1.output", step: "a-1" }, { text: "$trigger_data" }]);
  });
});
