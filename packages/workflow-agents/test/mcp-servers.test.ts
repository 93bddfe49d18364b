import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Journal, JournalEntry } from "@uncaged/workflow/interpreter";
import { mcpTools } from "../src/mcp/mcp.ts";
import { toolRegistry } from "../src/tools/registry.ts";
import type { ToolContext } from "../src/tools/tools.ts";
import { observed } from "./published.ts";

let cwd: string;
let abort: AbortController;
beforeEach(() => {
  cwd = realpathSync(mkdtempSync(join(tmpdir(), "uncaged-mcp-")));
  abort = new AbortController();
});
afterEach(() => {
  abort.abort();
  rmSync(cwd, { recursive: true, force: true });
});

const context = (): ToolContext => ({
  signal: abort.signal,
  cwd,
  env: { PATH: process.env.PATH ?? "", API_KEY: "key-0123456789" },
});
const programs = {
  everything: require.resolve("@modelcontextprotocol/server-everything/dist/index.js"),
  filesystem: require.resolve("@modelcontextprotocol/server-filesystem/dist/index.js"),
};
const official = (name: keyof typeof programs, ...args: string[]) =>
  mcpTools({ name, command: process.execPath, args: [programs[name], ...args] });
const rude = () => {
  const args = [join(import.meta.dir, "mcp/rude.ts"), join(cwd, "pids")];
  return mcpTools({ name: "rude", command: process.execPath, args });
};

describe('the official "everything" server', () => {
  test("has tools and resources that a model can use", async () => {
    const registry = toolRegistry([official("everything")]);
    const call = (name: string, input: unknown = {}) => registry.run(name, input, context());
    expect((await call("everything__get-sum", { a: 2, b: 3 })).content).toContain("5");
    expect((await call("everything__get-env")).content).not.toContain("key-0123456789");
    const listed = JSON.parse((await call("everything__list_resources")).content) as {
      resources: { uri: string }[];
      templates: { uriTemplate: string }[];
    };
    expect(listed.templates.map(({ uriTemplate }) => uriTemplate)).toContain(
      "demo://resource/dynamic/text/{resourceId}",
    );
    expect(listed.resources.length).toBeGreaterThan(0);
    const uri = "demo://resource/dynamic/text/7";
    const read = await call("everything__read_resource", { uri });
    expect(read).toMatchObject({ content: expect.stringContaining("Resource 7"), is_error: false });
    const blob = await call("everything__read_resource", { uri: uri.replace("text", "blob") });
    expect(blob.content).toMatch(/^\[7, \d+ characters\]$/);
  });

  test("reports a missing resource and an invalid URI", async () => {
    const registry = toolRegistry([official("everything")]);
    const read = (uri: unknown) => registry.run("everything__read_resource", { uri }, context());
    const missing = await read("demo://nowhere");
    expect(missing.is_error).toBe(true);
    expect(missing.content).toContain("demo://nowhere");
    expect((await read("seven")).content).toContain("uri must be a URI");
    expect((await read(undefined)).content).toContain("uri must be a URI");
  });

  test("has prompts for a role, and refuses unknown prompts and missing arguments", async () => {
    const server = official("everything");
    const ask = server.prompt("args-prompt", { city: "Bern" });
    expect(await ask(context())).toBe("What's weather in Bern?");
    const unknown = server.prompt("no-such-prompt")(context());
    expect(unknown).rejects.toMatchObject({ code: "MCP_PROMPT_FAILED" });
    await unknown.catch(() => undefined);
    const incomplete = server.prompt("args-prompt")(context());
    expect(incomplete).rejects.toMatchObject({
      code: "MCP_PROMPT_FAILED",
      message: expect.stringContaining("city"),
    });
    await incomplete.catch(() => undefined);
  });

  test("has prompts with the text of a resource, and prompts with bytes are refused", async () => {
    const server = official("everything");
    const ask = (resourceType: string) =>
      server.prompt("resource-prompt", { resourceType, resourceId: "1" })(context());
    expect(await ask("Text")).toMatch(
      /^This prompt includes the Text resource .*\n\nResource 1: This is a plaintext resource/,
    );
    const refused = await ask("Blob").catch((error: unknown) => error);
    expect(refused).toMatchObject({
      code: "MCP_PROMPT_FAILED",
      message:
        "the prompt resource-prompt contains the bytes of demo://resource/dynamic/blob/1, but a system prompt is text",
    });
  });
});

describe("the official filesystem server", () => {
  test("works in its folder, and reports that it refuses paths outside", async () => {
    writeFileSync(join(cwd, "a.txt"), "one\n");
    const registry = toolRegistry([official("filesystem", cwd)]);
    const call = (name: string, input: unknown) =>
      registry.run(`filesystem__${name}`, input, context());
    expect((await call("read_text_file", { path: join(cwd, "a.txt") })).content).toContain("one");
    await call("write_file", { path: join(cwd, "b.txt"), content: "two" });
    expect(readFileSync(join(cwd, "b.txt"), "utf8")).toBe("two");
    const outside = await call("read_text_file", { path: "/etc/hostname" });
    expect(outside).toMatchObject({ is_error: true });
    expect(outside.content).toContain("outside");
  });

  test("has no resources, and no tools for them", async () => {
    const registry = toolRegistry([official("filesystem", cwd)]);
    const names = (await registry.definitions(context())).map(({ name }) => name);
    expect(names).toContain("filesystem__list_directory");
    expect(names).not.toContain("filesystem__read_resource");
    const prompt = official("filesystem", cwd).prompt("any")(context());
    expect(prompt).rejects.toMatchObject({ code: "MCP_PROMPT_FAILED" });
    await prompt.catch(() => undefined);
  });
});

test("a server's sampling request is refused with a reason, and the refusal is published", async () => {
  const registry = toolRegistry([rude()]);
  let content = "";
  const { events } = await observed(async () => {
    ({ content } = await registry.run("rude__ask", {}, context()));
    return "";
  });
  const reason = "a server must not call a model outside of the thread's budget";
  expect(content).toContain(`sampling/createMessage is refused: ${reason}`);
  const said = events.filter(({ type }) => type === "tool_message").map(({ payload }) => payload);
  expect(said).toContainEqual({
    ...{ name: "rude", level: "warn", data: null },
    message: expect.stringContaining(
      `asked for sampling/createMessage, which is refused: ${reason}`,
    ),
  });
});

test("a program that crashes again right after a restart is not started again", async () => {
  const registry = toolRegistry([rude()]);
  const call = (name: string) => registry.run(`rude__${name}`, {}, context());
  const started = () => readFileSync(join(cwd, "pids"), "utf8").trim().split("\n").length;
  await call("die");
  // After an answer, the program may crash and restart again.
  expect((await call("ask")).is_error).toBe(false);
  await call("die");
  expect((await call("die")).content).toContain("died while its tool die ran");
  expect(started()).toBe(3);
  expect((await call("ask")).content).toContain("crashed again after a restart");
  expect(started()).toBe(3);
});

test("a prompt is requested once in a step with a journal", async () => {
  const entries: JournalEntry[] = [];
  const journal: Journal = {
    read: async () => entries,
    record: async (_, entry) => entries.push({ entry, failed: false }) > 0,
  };
  const once = { ...context(), journal, key: "step-1" };
  const ask = (city: string) => official("everything").prompt("args-prompt", { city })(once);
  expect(await ask("Bern")).toBe("What's weather in Bern?");
  const [first] = entries;
  Object.assign(first?.entry as object, { text: "as it was" });
  expect(await ask("Bern")).toBe("as it was");
  expect(await ask("Basel")).toBe("What's weather in Basel?");
  expect(entries).toHaveLength(2);
});
