import { describe, expect, test } from "bun:test";
import type { ToolAdapter, ToolRuntime } from "../adapter/adapter.ts";
import { carryOut, payloadOf, typesOf } from "../../test/calling.ts";
import { toolNameOf } from "./tool.ts";

type Run = (input: unknown, runtime: ToolRuntime, name: string) => unknown;

const tools = (run: Run): { tool: ToolAdapter } => ({
  tool: { execute: async (name, input, runtime) => run(input, runtime, name) },
});

/** Runs the step Tool_010_Try with a tool that runs `run`. */
const going = (run: Run, step = {}, inputs: Record<string, unknown> = {}) =>
  carryOut({ id: "Tool_010_Try", ...step }, tools(run), { inputs });

describe("a tool's name", () => {
  const cases: [object, string][] = [
    [{ id: "Tool_010_ReadFile" }, "ReadFile"],
    [{ id: "Tool_WorkflowRun" }, "WorkflowRun"],
    [{ id: "Tool_010_020_Sum" }, "020_Sum"],
    [{ id: "Tool_010" }, "010"],
    [{ id: "Tool_1x_Sum" }, "1x_Sum"],
    [{ id: "Tool_A", toolName: "Other" }, "Other"],
    [{ id: "Tool_A", tool: "First", toolName: "Other" }, "First"],
    [{ id: "Tool_A", tool: "" }, "A"],
  ];

  test.each(cases)("of %j is %s", (step, name) => {
    expect(toolNameOf({ step: step as { id: string }, value: (field) => field })).toBe(name);
  });
});

describe("the events of a tool step", () => {
  test("come in the documented order, with the documented payloads", async () => {
    const went = await going(
      (_, runtime) => {
        runtime.info("half way", { percent: 50 });
        runtime.emit("picture", { url: "x" });
        runtime.emit("note", { message: "so" });
        runtime.text("plain");
        return { result: "done", undoId: 7 };
      },
      {},
      { path: "a" },
    );
    const name = "Try";
    const message = (level: string, said: string, data: unknown) => {
      return { type: "tool_message", payload: { name, level, message: said, data } };
    };
    expect(went.events).toEqual([
      {
        type: "tool_start",
        payload: { name, input: { path: "a" }, inputSummary: '{"path":"a"}' },
      },
      message("info", "half way", { percent: 50 }),
      message("picture", "picture", { url: "x" }),
      message("note", "so", { message: "so" }),
      message("text", "plain", null),
      {
        type: "tool_done",
        payload: {
          name,
          output: "done",
          outputSummary: "done",
          toolResult: { result: "done", undoId: 7 },
        },
      },
    ]);
    expect(went.called).toEqual({
      locals: { _result: "done", _toolResult: { result: "done", undoId: 7 } },
    });
  });

  test("include messages of every level", async () => {
    const levels = ["text", "info", "warn", "error", "progress"] as const;
    const went = await going((_, runtime) => levels.forEach((level) => runtime[level](level)));
    const payloads = went.events.filter(({ type }) => type === "tool_message");
    expect(payloads.map(({ payload }) => payload.level)).toEqual([...levels]);
  });

  test("contain only the beginning of a long value, but the tool receives the whole value", async () => {
    const long = "x".repeat(20_000);
    let length = 0;
    const went = await going(
      (input) => {
        ({ length } = (input as { text: string }).text);
        return long;
      },
      {},
      { text: long },
    );
    expect(length).toBe(20_000);
    const { input, inputSummary } = payloadOf(went, "tool_start");
    expect(input).toMatchObject({ _truncated: true });
    expect(inputSummary).toHaveLength(200);
    expect(payloadOf(went, "tool_done")).toMatchObject({
      output: { _truncated: true },
      toolResult: { _truncated: true },
    });
    expect(went.called?.locals._result).toBe(long);
  });

  test("exclude reports after the tool's end", async () => {
    const kept: ToolRuntime[] = [];
    const went = await going((_, runtime) => void kept.push(runtime));
    kept[0]?.info("too late");
    expect(typesOf(went)).toBe("tool_start tool_done");
  });
});

describe("a failure", () => {
  const failures: [string, Run, string, unknown][] = [
    [
      "that is thrown",
      () => {
        throw new Error("no such table");
      },
      "no such table",
      null,
    ],
    ["that is a text", () => Promise.reject("boom"), "boom", null],
    ["that is null", () => Promise.reject(null), "null", null],
    ["in the envelope", () => ({ error: "bad", at: 1 }), "bad", { error: "bad", at: 1 }],
    [
      "in the envelope, as an object",
      () => ({ error: { message: "bad", n: 1 } }),
      "bad",
      { error: { message: "bad", n: 1 } },
    ],
    ["with a result", () => ({ error: "half", result: 1 }), "half", { error: "half", result: 1 }],
  ];

  test.each(failures)("fails the step with an error: %s", async (_, run, error, toolResult) => {
    const went = await going(run);
    expect(typesOf(went)).toBe("tool_start tool_error");
    expect(payloadOf(went, "tool_error")).toEqual({
      name: "Try",
      error,
      allowError: false,
      output: { ok: false, error, tool: "Try" },
      toolResult,
    });
    expect(went.called).toBeNull();
  });

  test.each(failures)(
    "is a result if the step allows it: %s",
    async (_, run, error, toolResult) => {
      for (const allowed of [{ allowError: true }, { continueOnError: true }]) {
        const went = await going(run, allowed);
        expect(typesOf(went)).toBe("tool_start tool_error");
        expect(payloadOf(went, "tool_error").allowError).toBe(true);
        const _result = { ok: false, error, tool: "Try" };
        expect(went.called?.locals).toEqual({ _result, _toolResult: toolResult });
      }
    },
  );

  test("does not include an envelope with an empty error", async () => {
    for (const error of [null, undefined, false, ""]) {
      const went = await going(() => ({ error, result: 1 }));
      expect(went.called?.locals._result).toBe(1);
    }
  });

  test("names a missing adapter", async () => {
    const went = await carryOut({ id: "Tool_010_Try" }, {});
    expect(typesOf(went)).toBe("tool_start tool_error");
    expect(String(went.error)).toContain('missing adapter "tool"');
  });
});

describe("the result of a tool", () => {
  const cases: [string, unknown, unknown][] = [
    ["undefined becomes null", undefined, null],
    ["a text stays unchanged", "text", "text"],
    ["an array stays unchanged", [1, { result: 2 }], [1, { result: 2 }]],
    ["an envelope without a result stays unchanged", { ok: true }, { ok: true }],
    ["an envelope's null becomes null", { result: null }, null],
    ["a date becomes its text", new Date(0), "1970-01-01T00:00:00.000Z"],
  ];

  test.each(cases)("%s", async (_, given, expected) => {
    expect((await going(() => given)).called?.locals._result).toEqual(expected);
  });

  test("is a copy: a later change by the tool has no effect", async () => {
    const list = [1];
    const went = await going(() => list);
    list.push(2);
    expect(went.called?.locals._result).toEqual([1]);
  });

  const ring: Record<string, unknown> = {};
  ring.ring = ring;
  const deep = () => {
    let value: unknown = [];
    for (let i = 0; i < 5000; i += 1) value = [value];
    return value;
  };
  const bad: [string, () => unknown, string][] = [
    ["a cycle", () => ring, "can't be written as JSON"],
    ["a BigInt", () => ({ n: 1n }), "can't be written as JSON"],
    ["a function", () => () => 1, "can't be written as JSON"],
    ["50 MB", () => "x".repeat(50 * 1024 * 1024), "characters of JSON, more than"],
    ["5,000 levels", deep, "500 levels"],
  ];

  test.each(bad)("is refused when it is %s", async (_, make, why) => {
    const went = await going(make);
    expect(typesOf(went)).toBe("tool_start tool_error");
    expect(String(went.error)).toContain(why);
    expect((await going(make, { allowError: true })).called?.locals).toMatchObject({
      _result: { ok: false },
      _toolResult: null,
    });
  });
});

describe("the input of a tool", () => {
  const given = async (step: object, inputs: Record<string, unknown> = {}) => {
    let seen: unknown;
    await going((input) => void (seen = input), step, inputs);
    return seen;
  };

  test("includes the step's timeout, unless the input has one", async () => {
    expect(await given({ timeout: 500 }, { a: 1 })).toEqual({ a: 1, timeout: 500 });
    expect(await given({ timeout: 500 }, { timeout: 9 })).toEqual({ timeout: 9 });
    expect(await given({}, { a: 1 })).toEqual({ a: 1 });
  });
});

describe("an aborted run", () => {
  test("ends a tool that never answers, and an allowed error does not hide the abort", async () => {
    const abort = new AbortController();
    const reason = new Error("stopped");
    const adapters = tools(
      (_, runtime) =>
        new Promise(() => {
          runtime.signal.addEventListener("abort", () => runtime.info("too late"));
          abort.abort(reason);
        }),
    );
    const step = { id: "Tool_A", allowError: true };
    const went = await carryOut(step, adapters, { signal: abort.signal });
    expect(went.error).toBe(reason);
    expect(typesOf(went)).toBe("tool_start");
  });
});
