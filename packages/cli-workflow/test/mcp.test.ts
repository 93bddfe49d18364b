import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { isAlive } from "../../workflow-agents/test/processes.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { programWords } from "./command.ts";
import { ended, playStore, removeFolders, type Store } from "./program.ts";

afterAll(removeFolders);

const initialize = {
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "by hand", version: "1" },
  },
};
const call = (name: string, args: object) => ({
  method: "tools/call",
  params: { name, arguments: args },
});

type Message = { id?: number; result?: Result; error?: { code: number } };
type Result = { structuredContent?: Record<string, never>; isError?: boolean };

/** A running `mcp` command. It exchanges messages with the test, one per line. */
class Spoken {
  readonly child: Bun.Subprocess<"pipe", "pipe", "pipe">;
  readonly messages: Message[] = [];
  #id = 0;
  #rest = "";
  readonly #reading: Promise<void>;

  constructor(store: Store, ...flags: string[]) {
    this.child = Bun.spawn([...programWords, "mcp", ...flags], {
      ...{ cwd: store.folder, env: store.env, stdin: "pipe", stdout: "pipe", stderr: "pipe" },
    });
    this.#reading = this.#read();
    void this.ask(initialize);
    this.write(JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }));
  }

  async #read(): Promise<void> {
    for await (const chunk of this.child.stdout) {
      const lines = (this.#rest + new TextDecoder().decode(chunk)).split("\n");
      this.#rest = lines.pop() ?? "";
      // Throws for a line that is not JSON.
      this.messages.push(...lines.map((line) => JSON.parse(line) as Message));
    }
  }

  write(line: string): void {
    // A program that has ended does not read later lines.
    void Promise.resolve(this.child.stdin.write(`${line}\n`)).catch(() => undefined);
    void Promise.resolve(this.child.stdin.flush()).catch(() => undefined);
  }

  /** Sends a request, and waits for its response. */
  async ask(request: object): Promise<Message> {
    const id = (this.#id += 1);
    this.write(JSON.stringify({ jsonrpc: "2.0", id, ...request }));
    let found: Message | undefined;
    await until(() => (found = this.messages.find((message) => message.id === id)) !== undefined);
    return found as Message;
  }

  /** Ends the input. Returns the exit code, the incomplete last line of stdout, and stderr. */
  async end(): Promise<{ code: number; rest: string; stderr: string }> {
    await this.child.stdin.end();
    const [code, stderr] = await Promise.all([this.child.exited, this.child.stderr.text()]);
    await this.#reading;
    return { code, rest: this.#rest, stderr };
  }
}

describe("mcp", () => {
  test("prints only messages, and ends at the end of its input", async () => {
    const store = await playStore();
    const mcp = new Spoken(store);
    const started = await mcp.ask(call("start_thread", { workflow: "play", wait: 60 }));
    expect(started.result).toMatchObject({ structuredContent: { status: "completed" } });
    expect(await mcp.ask(call("get_thread", { threadId: "none" }))).toMatchObject({
      result: { isError: true, structuredContent: { error: { code: "THREAD_NOT_FOUND" } } },
    });
    for (const line of [
      "{",
      "",
      "null",
      "[]",
      '{"jsonrpc":"2.0","id":{}}',
      "\0\u2028",
      "x".repeat(1e6),
    ])
      mcp.write(line);
    expect((await mcp.ask({ method: "none/none" })).error?.code).toBe(-32601);
    expect(await mcp.end()).toEqual({ code: 0, rest: "", stderr: "" });
  });

  test("--read-only offers only tools that change nothing; --allow-approve lets a model approve", async () => {
    const store = await playStore();
    const id = await store.play({ ask: 1 });
    await store.until(id, "waiting");
    const answer = call("answer_thread", { threadId: id, answer: "yes", question: 1, wait: 60 });
    const reading = new Spoken(store, "--read-only");
    expect((await reading.ask(answer)).error?.code).toBe(-32602);
    await reading.end();
    const plain = new Spoken(store);
    expect((await plain.ask(answer)).result).toMatchObject({
      ...{ isError: true, structuredContent: { error: { code: "APPROVAL_NOT_ALLOWED" } } },
    });
    await plain.end();
    const allowed = new Spoken(store, "--allow-approve");
    expect((await allowed.ask(answer)).result?.isError).toBeUndefined();
    await allowed.end();
    const { stdout } = await store.run(["thread", id]);
    expect(stdout).toContain("by mcp by hand");
  });

  test("ends when its client is killed, even during a call, and the thread continues", async () => {
    const store = await playStore();
    const { id, open } = await store.playGated(1);
    const script = join(store.folder, "client.ts");
    const text = `
      const child = Bun.spawn(${JSON.stringify([...programWords, "mcp"])}, {
        stdin: "pipe", stdout: "pipe", stderr: "inherit",
      });
      const send = (message) => child.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
      send({ id: 1, ...${JSON.stringify(initialize)} });
      send({ id: 2, ...${JSON.stringify(call("get_thread", { threadId: id, wait: 600 }))} });
      await child.stdin.flush();
      await child.stdout.getReader().read();
      console.log(child.pid);
      await child.exited;`;
    writeFileSync(script, text);
    const client = Bun.spawn([process.execPath, script], {
      ...{ cwd: store.folder, env: store.env, stdout: "pipe", stderr: "pipe" },
    });
    const { value } = await client.stdout.getReader().read();
    const pid = Number(new TextDecoder().decode(value));
    expect(isAlive(pid)).toBe(true);
    client.kill("SIGKILL");
    await client.exited;
    await until(() => !isAlive(pid));
    open();
    await store.until(id, "completed");
  });

  test("ends at SIGTERM", async () => {
    const store = await playStore();
    const mcp = new Spoken(store);
    await mcp.ask({ method: "tools/list" });
    mcp.child.kill("SIGTERM");
    expect((await mcp.end()).code).toBe(0);
  });

  test("ends when a message exceeds the size limit", async () => {
    const store = await playStore();
    const mcp = new Spoken(store);
    await mcp.ask({ method: "ping" });
    mcp.write("x".repeat(11 * 1024 * 1024));
    expect(await mcp.child.exited).toBe(0);
  });

  test("refuses wrong usage before it prints a message", async () => {
    const store = await playStore();
    const { code, stdout, stderr } = await ended(store.start(["mcp", "--root", ""]));
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("--root");
    const both = await store.run(["mcp", "--read-only", "--allow-approve"]);
    expect(both).toMatchObject({ code: 2, stdout: "" });
    expect(both.stderr.split("\n")[0]).toContain("--read-only");
  });
});
