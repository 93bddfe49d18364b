import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mcpTools } from "../src/mcp/mcp.ts";
import { toolRegistry } from "../src/tools/registry.ts";
import type { ToolContext } from "../src/tools/tools.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { isAlive } from "./processes.ts";
import { failureOf, observed } from "./published.ts";

const program = join(import.meta.dir, "mcp/server.ts");
const key = "key-0123456789";
const env = { PATH: process.env.PATH ?? "", SUMS_TOKEN: "token-0123456789", API_KEY: key };

let cwd: string;
let abort: AbortController;
let server: ChildProcess | undefined;
beforeEach(() => {
  cwd = realpathSync(mkdtempSync(join(tmpdir(), "uncaged-mcp-")));
  abort = new AbortController();
});
afterEach(() => {
  abort.abort();
  server?.kill("SIGKILL");
  rmSync(cwd, { recursive: true, force: true });
});

const context = (): ToolContext => ({ signal: abort.signal, cwd, env });
const log = () => join(cwd, "pids");
const pids = () => readFileSync(log(), "utf8").trim().split("\n").map(Number);
const stdio = () => {
  const args = [program, "stdio", log()];
  return mcpTools({ name: "sums", command: process.execPath, args, env: ["SUMS_*"] });
};

async function startHttp(port = "0"): Promise<string> {
  server = spawn(process.execPath, [program, "http", log()], {
    env: { ...process.env, PORT: port },
    stdio: ["ignore", "pipe", "ignore"],
  });
  let said = "";
  server.stdout?.on("data", (chunk) => (said += String(chunk)));
  await until(() => said.includes("\n"));
  return said.trim();
}

/** A shell script that starts a server only if the first line of its input is an `initialize` request. */
const initialisedFirst =
  'read -r line; case "$line" in *\'"method":"initialize"\'*) ;; *) exit 1;; esac; { printf "%s\\n" "$line"; cat; } |';

const http = (url: string, token = key) =>
  mcpTools({ name: "sums", url, headers: { Authorization: `Bearer ${token}` } });

describe.each(["stdio", "http"])("the tools of an MCP server by %s", (by) => {
  const registryOf = async (limits = {}) =>
    toolRegistry([by === "stdio" ? stdio() : http(await startHttp())], limits);

  test("are named after the server and the tool, and can be called", async () => {
    const registry = await registryOf();
    const definitions = await registry.definitions(context());
    expect(definitions.map(({ name }) => name)).toEqual([
      "sums__add",
      "sums__odd_name",
      "sums__fail",
      "sums__throw",
      "sums__die",
      "sums__hang",
      "sums__env",
      "sums__seen",
      "sums__mixed",
    ]);
    const numbers = { a: { type: "number" }, b: { type: "number" } };
    expect(definitions[0]).toMatchObject({
      description: "Adds.",
      input_schema: { type: "object", properties: numbers, required: ["a", "b"] },
    });
    const call = (name: string, input: unknown = {}) => registry.run(name, input, context());
    expect(await call("sums__add", { a: 1, b: 2 })).toEqual({ content: "3", is_error: false });
    expect(await call("sums__odd_name")).toEqual({ content: "odd", is_error: false });
    expect((await call("sums__mixed")).content).toStartWith(
      "two things\n[image image/png, 3 bytes, not shown: ",
    );
    expect(pids()).toHaveLength(1);
  });

  test("report an invalid call, a failure and an exception to the model", async () => {
    const registry = await registryOf();
    const call = (name: string, input: unknown = {}) => registry.run(name, input, context());
    expect(await call("sums__fail")).toEqual({ content: "no such sum", is_error: true });
    expect((await call("sums__throw")).content).toContain("it threw");
    const wrong = await call("sums__add", { a: "1" });
    expect(wrong.is_error).toBe(true);
    expect(wrong.content).toContain("expected number");
    expect((await call("sums__add", [1, 2])).content).toContain("must be a JSON object");
    expect((await call("sums__add", { a: 2, b: 2 })).content).toBe("4");
  });

  test("stop at their timeout, and work afterwards", async () => {
    const registry = await registryOf({ timeoutMs: 200 });
    await registry.definitions(context());
    const hung = await registry.run("sums__hang", {}, context());
    expect(hung.content).toContain("was stopped after 200 ms");
    expect((await registry.run("sums__add", { a: 1, b: 1 }, context())).content).toBe("2");
    expect(pids()).toHaveLength(1);
  });
});

describe("an MCP server by stdio", () => {
  test("runs in the thread's directory, gets only its own secrets, and has them masked in its output", async () => {
    const registry = toolRegistry([stdio()]);
    let content = "";
    const { events } = await observed(async () => {
      await registry.definitions(context());
      content = (await registry.run("sums__env", {}, context())).content;
      await until(() => JSON.stringify(events).includes("the token is"));
      return "";
    });
    const reported = JSON.parse(content) as { cwd: string; env: Record<string, string> };
    expect(reported.cwd).toBe(cwd);
    expect(reported.env.SUMS_TOKEN).toBe(env.SUMS_TOKEN);
    expect(reported.env.API_KEY).toBeUndefined();
    const said = events.filter(({ type }) => type === "tool_message").map((one) => one.payload);
    expect(said).toEqual([
      { name: "sums", level: "info", message: "ready to add", data: null },
      { name: "sums", level: "info", message: "the token is ***", data: null },
    ]);
  });

  test("is reported when it exits during a call, and restarts for the next call", async () => {
    const registry = toolRegistry([stdio()]);
    const died = await registry.run("sums__die", {}, context());
    expect(died.is_error).toBe(true);
    expect(died.content).toContain("the MCP server sums died while its tool die ran");
    expect(died.content).toContain("out of numbers");
    expect((await registry.run("sums__add", { a: 1, b: 2 }, context())).content).toBe("3");
    expect(pids()).toHaveLength(2);
  });

  test("ends with all its processes, even behind a wrapper that ignores signals", async () => {
    const kids = join(cwd, "kids");
    const script =
      'trap "" TERM; echo $$ >"$1"; sleep 600 & echo $! >>"$1"; shift; "$@"; sleep 600';
    const args = ["-c", script, "sh", kids, process.execPath, program, "stdio", log()];
    const wrapped = mcpTools({ name: "sums", command: "sh", args });
    await toolRegistry([wrapped]).definitions(context());
    const all = [...pids(), ...readFileSync(kids, "utf8").trim().split("\n").map(Number)];
    expect(all.filter(isAlive)).toHaveLength(3);
    abort.abort();
    await until(() => !all.some(isAlive));
  }, 180_000);

  test("is reported when it exits while a child process keeps its output open", async () => {
    const script = 'sleep 600 & exec "$@"';
    const args = ["-c", script, "sh", process.execPath, program, "stdio", log()];
    const registry = toolRegistry([mcpTools({ name: "sums", command: "sh", args })]);
    const died = await registry.run("sums__die", {}, context());
    expect(died.content).toContain("the MCP server sums died while its tool die ran");
  });

  test("restarts after an exit between two calls, at the latest for the second call", async () => {
    const registry = toolRegistry([stdio()]);
    await registry.definitions(context());
    process.kill(pids()[0] ?? 0, "SIGKILL");
    const add = () => registry.run("sums__add", { a: 1, b: 2 }, context());
    const first = await add();
    if (first.is_error) expect(first.content).toContain("the MCP server sums died");
    expect((await add()).content).toBe("3");
    expect(pids()).toHaveLength(2);
  });

  test("ends with its thread, and each thread has its own process", async () => {
    const registry = toolRegistry([stdio()]);
    const other = new AbortController();
    await registry.definitions(context());
    await registry.definitions({ ...context(), signal: other.signal });
    const [first = 0, second = 0] = pids();
    expect(first).not.toBe(second);
    abort.abort();
    await until(() => !isAlive(first));
    expect(isAlive(second)).toBe(true);
    other.abort();
    await until(() => !isAlive(second));
  });

  test.each([
    ["starts only after the timeout of the version request", "sleep 4; exec"],
    ["exits at a request before `initialize`", initialisedFirst],
  ])("is connected even if it %s", async (_, shell) => {
    const args = ["-c", `${shell} "$0" "$@"`, process.execPath, program, "stdio", log()];
    const registry = toolRegistry([mcpTools({ name: "sums", command: "sh", args })], {});
    const names = (await registry.definitions(context())).map(({ name }) => name);
    expect(names).toContain("sums__add");
  });

  test("is reported as unreachable when it cannot be started or exits at its start", async () => {
    const definitions = (command: string, args: string[]) =>
      toolRegistry([mcpTools({ name: "bad", command, args })]).definitions(context());
    const unreachable = { code: "MCP_UNREACHABLE" };
    expect(definitions("no-such-server", [])).rejects.toMatchObject(unreachable);
    const dies = definitions("sh", ["-c", "echo no licence >&2; exit 1"]);
    expect(dies).rejects.toMatchObject({
      ...unreachable,
      message: expect.stringContaining("its last line: no licence"),
    });
  });
});

describe("an MCP server by HTTP", () => {
  test("is reported when it refuses the key, without the key", async () => {
    const registry = toolRegistry([http(await startHttp(), "wrong-9876543210")]);
    const answer = await registry.definitions(context()).then(String, (error: unknown) => error);
    expect(answer).toMatchObject({ code: "MCP_REFUSED" });
    expect(String(answer)).not.toContain("wrong-9876543210");
  });

  test("is reported as unreachable when its headers cannot be made", async () => {
    const headers = () => {
      throw new Error("no such vault");
    };
    const made = mcpTools({ name: "sums", url: "http://127.0.0.1:9/mcp", headers });
    const error = await failureOf(toolRegistry([made]).definitions(context()));
    expect(error).toMatchObject({ code: "MCP_UNREACHABLE" });
    expect(String(error)).toContain("no such vault");
  });

  test("is reported when it is unreachable", async () => {
    const gone = toolRegistry([http("http://127.0.0.1:9/mcp")]).definitions(context());
    expect(gone).rejects.toMatchObject({ code: "MCP_UNREACHABLE" });
  });

  test("is reported when it exits during a call, and is used again after its restart", async () => {
    const url = await startHttp();
    const made = mcpTools({
      name: "sums",
      url,
      headers: (all) => ({ authorization: `Bearer ${all.API_KEY}` }),
    });
    const registry = toolRegistry([made]);
    const died = await registry.run("sums__die", {}, context());
    expect(died.content).toContain("the MCP server sums died while its tool die ran");
    await startHttp(new URL(url).port);
    expect((await registry.run("sums__add", { a: 1, b: 2 }, context())).content).toBe("3");
  });
});

test("a server's options are checked at definition", () => {
  expect(() => mcpTools({ name: "a__b", command: "x" })).toThrow("invalid name");
  expect(() => mcpTools({ name: "a", url: "not a url" })).toThrow("is not a URL");
});
