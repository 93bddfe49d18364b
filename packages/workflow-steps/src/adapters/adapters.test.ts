import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { carryOut } from "../../test/calling.ts";
import { defaultAdapters } from "./adapters.ts";

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "uncaged-steps-"));
});
afterEach(() => rmSync(cwd, { recursive: true }));

test("the default adapters use the thread's directory", async () => {
  const adapters = defaultAdapters({ options: { cwd }, registry: { docs: { 7: "Rules" } } });
  await adapters.file?.write("docs/7.md", "Be kind.", "overwrite");
  expect(await adapters.doc?.get([7])).toEqual([{ id: 7, title: "Rules", text: "Be kind." }]);
  const step = { id: "Tool_010_ReadFile" };
  const went = await carryOut(step, adapters, { inputs: { file_path: "docs/7.md" } });
  expect(went.called?.locals._result).toBe("Be kind.");
});

test("the default adapters include files and tools only with a directory, and never services or components", () => {
  expect(Object.keys(defaultAdapters({ options: {} })).sort()).toEqual(["api", "llm"]);
  const all = Object.keys(defaultAdapters({ options: { cwd } })).sort();
  expect(all).toEqual(["api", "doc", "file", "llm", "tool"]);
});

test("a model's key is read from the thread's environment only", async () => {
  const { llm } = defaultAdapters({ options: { cwd } });
  const went = await carryOut({ id: "LLM_A" }, { llm }, { inputs: { prompt: "x" } });
  expect(went.error).toMatchObject({ type: "auth_error", code: "LLM_NO_KEY" });
});
