import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { channel } from "node:diagnostics_channel";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventsChannel } from "@uncaged/workflow";
import { type Tool, tool, toolRegistry } from "@uncaged/workflow-agents";
import * as z from "zod/mini";
import { carryOut, payloadOf, typesOf } from "../../test/calling.ts";
import { builtInTools } from "../document/tools.ts";
import { stepTools, toolAdapter } from "./tool.ts";

const eventsOfAll = channel(eventsChannel);
const published: unknown[] = [];
const listen = (event: unknown) => void published.push(event);

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "uncaged-steps-"));
  published.length = 0;
  eventsOfAll.subscribe(listen);
});
afterEach(() => {
  eventsOfAll.unsubscribe(listen);
  rmSync(cwd, { recursive: true });
});

const calling = (name: string, inputs: Record<string, unknown>, step = {}) =>
  carryOut({ id: "Tool_A", tool: name, ...step }, builtIn(), { inputs });

const builtIn = () => {
  const env = { PATH: process.env.PATH ?? "" };
  return { tool: toolAdapter(stepTools(), { cwd, env }) };
};

describe("the built-in tools", () => {
  test("are available under their documented names and fields", async () => {
    writeFileSync(join(cwd, "a.txt"), "old text\n");
    const edit = { file_path: "a.txt", old_string: "old", new_string: "new" };
    expect((await calling("EditFile", edit)).called?.locals._toolResult).toMatchObject({
      result: "changed a.txt",
    });
    const read = await calling("ReadFile", { file_path: "a.txt" });
    expect(read.called?.locals._result).toBe("new text\n");
    await calling("WriteFile", { file_path: "b.txt", content: "b" });
    expect(readFileSync(join(cwd, "b.txt"), "utf8")).toBe("b");
    const list = await calling("ListFiles", {});
    expect(list.called?.locals._result).toBe("a.txt\nb.txt");
    const found = await calling("Search", { pattern: "new" });
    expect(found.called?.locals._result).toBe("a.txt:1: new text");
    const ran = await calling("RunCommand", { argv: ["cat", "b.txt"] });
    expect(JSON.stringify(ran.called?.locals._result)).toContain("b");
  });

  test("accept the inputs that a file's steps may pass", async () => {
    const at = { cwd, env: {}, signal: new AbortController().signal };
    const own = (await stepTools().definitions(at)).map(({ name, input_schema: schema }) => {
      const { properties = {} } = schema as { properties?: object };
      return [name, Object.keys(properties)] as const;
    });
    const names = new Map(own);
    expect(Object.keys(builtInTools).filter((name) => !/^[A-Z]/.test(name))).toEqual([
      ...names.keys(),
    ]);
    for (const [name, inputs] of names) {
      expect(builtInTools[name]).toEqual(expect.arrayContaining([...inputs]));
    }
  });

  test("fail their step when a command fails, unless the step allows errors", async () => {
    const failing = (...lines: string[]) => ["sh", "-c", [...lines, "exit 3"].join("; ")];
    const error = "echo no such branch >&2";
    const failed = await calling("RunCommand", { argv: failing("echo whole >&2", error) });
    expect((failed.error as Error).message).toBe(
      "the command failed with exit code 3: no such branch",
    );
    // The order of stdout and stderr is not defined.
    const argv = failing("echo half", error);
    const { locals } = (await calling("RunCommand", { argv }, { allowError: true })).called ?? {};
    expect(locals?._result).toMatchObject({ ok: false, tool: "RunCommand" });
    expect(locals?._toolResult).toMatchObject({
      exitCode: 3,
      result: expect.stringContaining("half"),
    });
  });

  test("are available under their own names and fields too", async () => {
    await calling("writeFile", { path: "a.txt", content: "a" });
    const read = await calling("readFile", { path: "a.txt" });
    expect(read.called?.locals._result).toBe("a");
  });

  test("publish each event once: only the step's own", async () => {
    writeFileSync(join(cwd, "a.txt"), "a");
    const went = await calling("ReadFile", { file_path: "a.txt" });
    expect(typesOf(went)).toBe("tool_start tool_done");
    expect(payloadOf(went, "tool_start").name).toBe("ReadFile");
    expect(published).toEqual([]);
  });

  test("fail the step with their own error", async () => {
    const out = await calling("ReadFile", { file_path: "../x" });
    expect(out.error).toMatchObject({ code: "PATH_OUTSIDE" });
    const wrong = await calling("ReadFile", {});
    expect(wrong.error).toMatchObject({ code: "TOOL_INPUT" });
    const unknown = await calling("Compile", {});
    expect(unknown.error).toMatchObject({ code: "TOOL_UNKNOWN" });
    expect(payloadOf(unknown, "tool_error").error).toBe('unknown tool "Compile"');
    const allowed = await calling("Compile", {}, { allowError: true });
    expect(allowed.called?.locals._result).toMatchObject({ ok: false, tool: "Compile" });
  });
});

describe("a custom tool", () => {
  const own = (execute: Tool["execute"]) => {
    const try_it = tool({
      name: "try_it",
      description: "Tries.",
      input: z.looseObject({}),
      execute,
    });
    return { tool: toolAdapter(toolRegistry([try_it]), { cwd }) };
  };
  const step = { id: "Tool_try_it" };

  test("reports its messages through the step", async () => {
    const adapters = own((_, runtime) => {
      runtime.progress("half", { percent: 50 });
      runtime.emit("picture", { url: "x" });
      return 1;
    });
    const went = await carryOut(step, adapters);
    expect(went.events.slice(1, 3).map(({ payload }) => payload)).toEqual([
      { name: "try_it", level: "progress", message: "half", data: { percent: 50 } },
      { name: "try_it", level: "picture", message: "picture", data: { url: "x" } },
    ]);
    expect(published).toEqual([]);
  });

  test("keeps the names of its own fields", async () => {
    const seen: unknown[] = [];
    const inputs = { file_path: "a", timeout: 5000 };
    await carryOut(
      step,
      own((input) => void seen.push(input)),
      { inputs },
    );
    expect(seen).toEqual([inputs]);
  });

  test("is aborted by the step's timeout", async () => {
    const signals: AbortSignal[] = [];
    const hang = own((_, { signal }) => (signals.push(signal), new Promise(() => undefined)));
    const went = await carryOut({ ...step, timeout: 20 }, hang);
    expect(went.error).toMatchObject({ code: "TOOL_TIMEOUT" });
    expect(String(went.error)).toContain("the tool try_it was stopped after 20 ms");
    expect(signals[0]?.aborted).toBe(true);
  });

  test("is aborted with its run", async () => {
    const abort = new AbortController();
    const reason = new Error("stopped");
    const hang = own(() => (abort.abort(reason), new Promise(() => undefined)));
    const went = await carryOut(step, hang, { signal: abort.signal });
    expect(went.error).toBe(reason);
    expect(typesOf(went)).toBe("tool_start");
  });
});
