import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { openLocalHost, retryOptions, settled, type ThreadRef } from "@uncaged/workflow/host";
import { openRoot } from "../../workflow/src/disk/root.ts";
import { signalWorkers } from "../../workflow/test/fixtures/store.ts";
import { anthropicServer } from "./anthropic-server.ts";
import { expectCounted, untilRead } from "./counted.ts";
import { openaiServer } from "./openai-server.ts";
import type { Reply, WireServer } from "./wire.ts";
import { some } from "../../workflow/test/fixtures/cases.ts";

/* Tests that a fallback agent, or an agent that is a command, continues its own work after a kill of the worker. */
const folder = mkdtempSync(join(tmpdir(), "uncaged-fallback-"));
const host = openLocalHost({ path: join(folder, "root") });
const root = openRoot({ path: join(folder, "root") });

// Claude Code's own binary. Its package has a separate package for each platform.
const require = createRequire(import.meta.url);
const wrapper = createRequire(require.resolve("@anthropic-ai/claude-code/package.json"));
const own = `@anthropic-ai/claude-code-${process.platform}-${process.arch}/package.json`;
const claude = dirname(wrapper.resolve(own));

let answer: Record<"claude" | "gpt", (body: string, nth: number) => Reply>;
let servers: Record<"claude" | "gpt", WireServer<{ model: string }>>;
beforeAll(async () => {
  const asked = (name: "claude" | "gpt") => (body: object, nth: number) =>
    answer[name](JSON.stringify(body), nth);
  servers = {
    claude: await anthropicServer(asked("claude")),
    gpt: await openaiServer(asked("gpt")),
  };
  await host.register("fallback", join(import.meta.dir, "fallback/fallback.ts"));
}, 180_000);
afterAll(async () => {
  for (const server of Object.values(servers)) await server.stop();
  await signalWorkers(root, "SIGKILL");
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

let runs = 0;
async function start(prompt: string) {
  const cwd = join(folder, `run-${(runs += 1)}`);
  mkdirSync(cwd);
  for (const server of Object.values(servers)) server.came.splice(0);
  const env = {
    PATH: [claude, process.env.PATH].join(delimiter),
    HOME: folder,
    ...{ ANTHROPIC_API_KEY: servers.claude.key, ANTHROPIC_BASE_URL: servers.claude.url },
    ...{ OPENAI_API_KEY: servers.gpt.key, OPENAI_BASE_URL: servers.gpt.url },
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    CLAUDE_CODE_MAX_RETRIES: "0",
  };
  last = host.start({ workflow: "fallback", prompt, env, cwd });
  const ref = await last;
  const marks = () => readFileSync(join(cwd, "marks"), "utf8").trim().split("\n");
  return { ref, env, cwd, marks };
}

let last: Promise<ThreadRef> | null = null;
async function killInAnswer(): Promise<void> {
  if (last) await untilRead(host, [await last], Object.values(servers));
  await signalWorkers(root, "SIGKILL");
}
const kill = (): Reply => {
  const text = "I begin to do what I am asked";
  // The answer never ends. If the answer ended, the command would retry before it is killed with its worker.
  return { text, held: killInAnswer(), fault: { kind: "silence", after: 5 } };
};
const overloaded: Reply = {
  fault: { kind: "status", status: 529, type: "overloaded_error", message: "Overloaded" },
};

describe("an agent that took over", () => {
  test("continues after a crash and in a retry, without a request to the first agent", async () => {
    let at: "mark" | "die" | "fail" | "end" = "mark";
    answer = {
      claude: () => overloaded,
      gpt: () => {
        if (at === "mark") {
          at = "die";
          return { tools: [{ name: "mark", input: { n: 1 } }] };
        }
        if (at === "die") {
          at = "fail";
          return kill();
        }
        if (at === "end") return { text: "well" };
        at = "end";
        return { fault: { kind: "status", status: 400, type: "", message: "no such thing" } };
      },
    };
    const { ref, env, cwd, marks } = await start("models");
    expect((await settled(host, ref)).status).toBe("interrupted");
    expect([servers.claude.came.length, servers.gpt.came.length]).toEqual([1, 2]);
    await host.control(ref, { kind: "resume", env, cwd });
    const failed = await settled(host, ref);
    expect([failed.status, servers.claude.came.length]).toEqual(["failed", 1]);
    const again = await host.fork(ref, retryOptions(failed, { env }));
    const view = await settled(host, again);
    expect([view.status, view.steps[0]?.content]).toEqual(["completed", "well"]);
    expect([servers.claude.came.length, servers.gpt.came.length]).toEqual([1, 4]);
    expect(marks()).toEqual(["1"]);
    const events = (await host.attempts(ref)).flatMap(({ notes }) => notes);
    const takeovers = events.filter(({ type }) => type === "llm_fallback");
    expect(takeovers.map(({ payload }) => payload)).toEqual([
      { failed: 1, next: 2, code: "LLM_OVERLOADED", error: expect.any(String) },
    ]);
    await expectCounted(host, [ref, again], Object.values(servers));
  }, 180_000);

  test("does not replace the first agent after a crash if it has recorded nothing", async () => {
    let isOver = true;
    answer = {
      claude: () => (isOver ? overloaded : { text: "well again" }),
      gpt: () => {
        isOver = false;
        return kill();
      },
    };
    const { ref, env, cwd } = await start("models");
    expect((await settled(host, ref)).status).toBe("interrupted");
    await host.control(ref, { kind: "resume", env, cwd });
    expect((await settled(host, ref)).steps[0]?.content).toBe("well again");
    await expectCounted(host, [ref], Object.values(servers));
  }, 180_000);
});

test.each(
  some([
    [", in a role that another role calls", "leads"],
    ["", "command"],
  ]),
)(
  "Claude Code continues the session in which its worker was killed%s",
  async (_, prompt) => {
    const bash = { command: "echo 1 >> marks", description: "Leaves a mark" };
    let isKilled = false;
    answer = {
      claude: (body) => {
        const isResult = body.includes("tool_result");
        if (body.includes("You lead.")) {
          const call = { name: "command", input: { message: "Mark it, please." } };
          return isResult ? { text: "It is done." } : { tools: [call] };
        }
        if (!isResult) return { tools: [{ name: "Bash", input: bash }] };
        if (isKilled) return { text: "It is marked." };
        isKilled = true;
        return kill();
      },
      gpt: () => ({}),
    };
    const { ref, env, cwd, marks } = await start(prompt);
    expect((await settled(host, ref)).status).toBe("interrupted");
    await host.control(ref, { kind: "resume", env, cwd });
    const view = await settled(host, ref);
    const end = prompt === "leads" ? "It is done." : "It is marked.";
    expect([view.status, view.steps[0]?.content]).toEqual(["completed", end]);
    expect(marks()).toEqual(["1"]);
    const sessions = (await host.attempts(ref)).flatMap(({ session }) => session?.session_id ?? []);
    expect(new Set(sessions).size).toBe(2);
    // The call is in both of the later requests.
    expect(
      servers.claude.came.filter(({ body }) => JSON.stringify(body).includes("echo 1")),
    ).toHaveLength(2);
    await expectCounted(host, [ref], Object.values(servers));
  },
  180_000,
);
