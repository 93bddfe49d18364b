import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { channel } from "node:diagnostics_channel";
import { eventsChannel, WorkflowError, type WorkflowEvent } from "@uncaged/workflow";
import * as z from "zod";
import * as mini from "zod/mini";
import { toolRegistry } from "./registry.ts";
import { runTool } from "./run.ts";
import { type Tool, tool, type ToolContext, type ToolExecution } from "./tools.ts";

// Bun drops the subscribers of an unreferenced channel.
const published = channel(eventsChannel);
let events: WorkflowEvent[] = [];
const record = (event: unknown) => void events.push(event as WorkflowEvent);
beforeEach(() => {
  events = [];
  published.subscribe(record);
});
afterEach(() => {
  published.unsubscribe(record);
});

const here = (signal = new AbortController().signal): ToolContext => {
  return { signal, cwd: "/", env: {} };
};
const types = () => events.map(({ type }) => type);
const returning = (execute: (input: unknown, runtime: ToolExecution) => unknown): Tool =>
  tool({ name: "try_it", description: "Tries it.", input: z.object({}), execute });
const answer = (execute: (input: unknown, runtime: ToolExecution) => unknown, limits = {}) =>
  toolRegistry([returning(execute)], limits).run("try_it", {}, here());

describe("a registry", () => {
  test("returns each tool's name, description and JSON Schema", async () => {
    const add = tool({
      name: "add",
      description: "Adds.",
      input: z.object({ a: z.number().describe("one"), b: z.number().default(1) }),
      execute: ({ a, b }) => a + b,
    });
    expect(await toolRegistry([add]).definitions(here())).toEqual([
      {
        name: "add",
        description: "Adds.",
        input_schema: {
          type: "object",
          properties: {
            a: { type: "number", description: "one" },
            b: { type: "number", default: 1 },
          },
          required: ["a"],
        },
      },
    ]);
    const registry = toolRegistry([add]);
    expect(await registry.run("add", { a: 2 }, here())).toEqual({ content: "3", is_error: false });
  });

  test("changes property names that a provider refuses, and passes the original names to the tool", async () => {
    const find = tool({
      name: "find",
      description: "Finds.",
      input: z.object({ $filter: z.string(), "über uns": z.object({ $top: z.int() }) }),
      execute: (input) => JSON.stringify(input),
    });
    const registry = toolRegistry([find]);
    const [definition] = await registry.definitions(here());
    const properties = Object(definition?.input_schema.properties) as Record<string, object>;
    const [filter = "", about = ""] = Object.keys(properties);
    const { properties: inner } = properties[about] as { properties: object };
    const [top = ""] = Object.keys(inner);
    for (const name of [filter, about, top]) expect(name).toMatch(/^[\w.-]{1,64}$/);
    const given = { $filter: "a", "über uns": { $top: 1 } };
    for (const input of [{ [filter]: "a", [about]: { [top]: 1 } }, given]) {
      const { content } = await registry.run("find", input, here());
      expect(JSON.parse(content)).toEqual(given);
    }
  });

  test("has the tools of a source in addition to its own", async () => {
    const source = {
      tools: async () => [
        {
          name: "late",
          description: "",
          input_schema: { type: "object" },
          check: (input: unknown) => ({ ok: true as const, input }),
          execute: () => "from the source",
        },
      ],
    };
    const registry = toolRegistry([returning(() => "own"), source]);
    const names = (await registry.definitions(here())).map(({ name }) => name);
    expect(names).toEqual(["try_it", "late"]);
    expect((await registry.run("late", {}, here())).content).toBe("from the source");
  });

  test("refuses a duplicate name, an invalid name, and an input schema that is not an object", () => {
    const one = returning(() => 1);
    expect(() => toolRegistry([one, one])).toThrow("two tools have the name try_it");
    expect(() => toolRegistry([{ ...one, name: "try it" }])).toThrow(
      'invalid name of a tool: "try it"',
    );
    expect(() => toolRegistry([{ ...one, input: z.string() }])).toThrow("is not an object");
    expect(() => toolRegistry([{ ...one, input: z.object({ at: z.date() }) }])).toThrow(
      "can't be a JSON Schema",
    );
  });
});

describe("a call", () => {
  test("is published as `tool_start`, `tool_message` and `tool_done`", async () => {
    await answer((_, runtime) => {
      runtime.info("half way", { percent: 50 });
      runtime.emit("picture", { url: "x" });
      runtime.text("plain");
      return { result: "done", undoId: 7 };
    });
    expect(events).toEqual(
      [
        { type: "tool_start", payload: { name: "try_it", input: {}, inputSummary: "{}" } },
        {
          type: "tool_message",
          payload: { name: "try_it", level: "info", message: "half way", data: { percent: 50 } },
        },
        {
          type: "tool_message",
          payload: { name: "try_it", level: "picture", message: "picture", data: { url: "x" } },
        },
        {
          type: "tool_message",
          payload: { name: "try_it", level: "text", message: "plain", data: null },
        },
        {
          type: "tool_done",
          payload: {
            name: "try_it",
            output: "done",
            outputSummary: "done",
            toolResult: { result: "done", undoId: 7 },
          },
        },
      ].map((event) => ({ ...event, stepID: "agent" })),
    );
  });

  test("has long messages truncated in events, like every value", async () => {
    await answer((_, runtime) => runtime.info("x".repeat(20_000)));
    expect(events[1]?.payload.message).toMatchObject({ _truncated: true, length: 20_002 });
  });

  test("of an unknown tool returns an error with the known tools", async () => {
    const { content, is_error } = await toolRegistry([returning(() => 1)]).run("rm", {}, here());
    expect(content).toBe('unknown tool "rm"\ntools: try_it');
    expect(is_error).toBe(true);
    expect(types()).toEqual(["tool_start", "tool_error"]);
  });

  test("with invalid arguments returns an error with their problems", async () => {
    for (const schema of [
      z.object({ path: z.string(), n: z.number() }),
      mini.object({ path: mini.string(), n: mini.number() }),
    ]) {
      const one: Tool = { ...returning(() => "ran"), input: schema };
      const wrong = await toolRegistry([one]).run("try_it", { n: "1" }, here());
      expect(wrong.is_error).toBe(true);
      expect(wrong.content).toContain("path: Invalid input: expected string, received undefined");
      expect(wrong.content).toContain("n: Invalid input: expected number, received string");
    }
  });

  test("that throws returns the error, with the hint of a `WorkflowError`", async () => {
    const plain = await answer(() => {
      throw new Error("no such table");
    });
    expect(plain).toEqual({ content: "the tool try_it failed: no such table", is_error: true });
    const known = await answer(async () => {
      throw new WorkflowError({ code: "X", kind: "failed", message: "what", hint: "do this" });
    });
    expect(known).toEqual({ content: "what\ndo this", is_error: true });
    expect((await answer(() => Promise.reject(null))).content).toContain("failed: null");
  });

  test("that hangs ends at its timeout, and later reports of the tool are dropped", async () => {
    const late = Promise.withResolvers<void>();
    const hung = await answer(
      (_, runtime) =>
        new Promise(() => {
          runtime.signal.addEventListener("abort", () => {
            runtime.info("too late");
            late.resolve();
          });
        }),
      { timeoutMs: 20 },
    );
    await late.promise;
    expect(hung.content).toContain("the tool try_it was stopped after 20 ms");
    expect(types()).toEqual(["tool_start", "tool_error"]);
  });

  test("ends with the thread, even if the call starts after the thread's end", async () => {
    const abort = new AbortController();
    const registry = toolRegistry([returning(() => new Promise(() => abort.abort()))]);
    const first = await runTool(registry, "try_it", {}, here(abort.signal));
    expect(!first.ok && first.error.code).toBe("TOOL_ABORTED");
    let ran = false;
    const after = toolRegistry([returning(() => (ran = true))]);
    expect((await after.run("try_it", {}, here(abort.signal))).is_error).toBe(true);
    expect(ran).toBe(false);
  });

  test("with a result that JSON cannot represent returns an error", async () => {
    const ring: Record<string, unknown> = {};
    ring.ring = ring;
    for (const bad of [ring, { n: 1n }, () => 1, Symbol("s"), { toJSON: () => undefined }]) {
      const { content, is_error } = await answer(() => bad);
      expect(content).toContain("the tool's result can't be written as JSON");
      expect(is_error).toBe(true);
    }
    expect(types().filter((type) => type === "tool_done")).toEqual([]);
  });

  test("with a result of 100 MB returns the beginning and states the original size", async () => {
    const result = "x".repeat(100 * 1024 * 1024);
    const { content, is_error } = await answer(() => result, { maxResult: 50 });
    expect(content).toBe(
      `${"x".repeat(50)}\n[truncated: the first 50 of ${100 * 1024 * 1024} characters]`,
    );
    expect(is_error).toBe(false);
    expect(events.at(-1)?.payload.output === result).toBe(true);
  });

  test("without a result returns a note, and a truncated result does not end within a character", async () => {
    expect((await answer(() => undefined)).content).toBe("(no output)");
    expect((await answer(() => "ab😀cd", { maxResult: 3 })).content).toStartWith("ab\n[truncated");
  });

  test("that fails has the documented output for a caller that continues", async () => {
    const registry = toolRegistry([returning(() => Promise.reject(new Error("bad")))]);
    const outcome = await runTool(registry, "try_it", {}, { ...here(), allowError: true });
    const output = { ok: false, error: "the tool try_it failed: bad", tool: "try_it" };
    expect(outcome.output).toEqual(output);
    expect(events.at(-1)?.payload).toMatchObject({ allowError: true, output, code: "TOOL_FAILED" });
  });
});
