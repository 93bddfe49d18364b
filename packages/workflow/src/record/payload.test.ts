import { describe, expect, test } from "bun:test";
import { type Mask, maskOf, noMask } from "../contract/mask.ts";
import { payloadJson } from "./payload.ts";

const long = "y".repeat(11_000);

/** A recorded payload and the kept values, by their index in the list. */
function recorded(payload: unknown, mask: Mask = noMask): { payload: unknown; kept: string[] } {
  const kept: string[] = [];
  const json = payloadJson(payload, mask, (value) => kept.push(value) - 1);
  return { payload: JSON.parse(json), kept };
}

const cutAt = (at: number) => expect.objectContaining({ _truncated: true, length: 11_002, at });

describe("recording a payload", () => {
  test("truncates only long values, and keeps them in full", () => {
    expect(recorded({ a: 1, long })).toEqual({
      payload: { a: 1, long: cutAt(0) },
      kept: [`"${long}"`],
    });
    expect(recorded({ resolvedInputs: { a: "small", long, more: long } })).toEqual({
      payload: { resolvedInputs: { a: "small", long: cutAt(0), more: cutAt(1) } },
      kept: [`"${long}"`, `"${long}"`],
    });
    expect(recorded({ input: { a: "small", long } })).toEqual({
      payload: { input: expect.objectContaining({ type: "object", length: 11_023, at: 0 }) },
      kept: [JSON.stringify({ a: "small", long })],
    });
  });

  test("leaves a small payload unchanged, and truncates a long text as a whole", () => {
    const small = { outputs: null, n: 1, none: undefined };
    expect(recorded(small)).toEqual({ payload: { outputs: null, n: 1 }, kept: [] });
    expect(recorded(long)).toEqual({ payload: cutAt(0), kept: [`"${long}"`] });
    expect(recorded(undefined)).toEqual({ payload: null, kept: [] });
  });

  test("truncates events of a child workflow value by value", () => {
    const event = { type: "step_start", runID: "r", payload: { resolvedInputs: { long, n: 1 } } };
    const nested = { ...event, type: "tool_message", payload: { data: event } };
    const shown = { resolvedInputs: { long: cutAt(0), n: 1 } };
    expect(recorded({ name: "WorkflowRun", data: event })).toEqual({
      payload: { name: "WorkflowRun", data: { ...event, payload: shown } },
      kept: [`"${long}"`],
    });
    expect(recorded({ data: nested }).payload).toEqual({
      data: { ...nested, payload: { data: { ...event, payload: shown } } },
    });
    expect(recorded({ data: { type: "note", payload: long } }).payload).toMatchObject({
      data: { _truncated: true },
    });
  });

  test("leaves many small values unchanged", () => {
    const text = "z".repeat(9000);
    const payload = { outputs: { a: text, b: text }, c: text, none: undefined };
    expect(recorded(payload).payload).toEqual({ outputs: { a: text, b: text }, c: text });
  });

  test("uses the result of its `toJSON`", () => {
    const own = { toJSON: () => ({ long, n: 1 }) };
    expect(recorded(own).payload).toEqual({ long: cutAt(0), n: 1 });
    expect(recorded({ outputs: own }).payload).toMatchObject({ outputs: { length: 11_017 } });
  });

  test("truncates a value that can't be kept, without its position", () => {
    const json = payloadJson({ long }, noMask, () => null);
    expect(JSON.parse(json)).toEqual({
      long: { _truncated: true, type: "string", length: 11_002, preview: expect.any(String) },
    });
  });

  test("leaves a value that its publisher truncated unchanged", () => {
    const cut = { _truncated: true, type: "string", length: 90_000, preview: '"ab...' };
    expect(recorded({ outputs: cut, long, resolvedInputs: { cut } })).toEqual({
      payload: { outputs: cut, long: cutAt(0), resolvedInputs: { cut } },
      kept: [`"${long}"`],
    });
  });

  test("masks a secret in a text, in a name, and across the truncation", () => {
    const secret = "sk-ant-0123456789";
    const mask = maskOf({ ANTHROPIC_API_KEY: secret });
    const payload = {
      content: `${"y".repeat(190)}${secret}${long}${secret}`,
      input: { [secret]: long },
      outputs: { text: { _truncated: true, preview: '"abc sk-ant-...' } },
    };
    const { kept, payload: shown } = recorded(payload, mask);
    expect(kept.join("")).toContain("***");
    expect(`${kept.join("")}${JSON.stringify(shown)}`).not.toContain("sk-ant");
  });
});
