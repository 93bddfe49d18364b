import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { anthropicServer } from "../../workflow-agents/test/anthropic-server.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { failureOf, threadOf } from "../../workflow-agents/test/published.ts";
import type { Reply } from "../../workflow-agents/test/wire.ts";
import { openEnvironment } from "../src/agent/agent.ts";
import { type StepRequest } from "../src/entry/index.ts";
import { claudeAgent } from "../src/agent/claude.ts";

/* The real Claude Code as the agent of a step, against a server of the provider's protocol. */
const agents = createRequire(import.meta.resolve("@uncaged/workflow-agents"));
const wrapper = createRequire(agents.resolve("@anthropic-ai/claude-code/package.json"));
const own = `@anthropic-ai/claude-code-${process.platform}-${process.arch}/package.json`;
const command = join(dirname(wrapper.resolve(own)), "claude");

let cwd = "";
let home = "";
beforeAll(() => {
  cwd = realpathSync(mkdtempSync(join(tmpdir(), "uncaged-plan-")));
  home = mkdtempSync(join(tmpdir(), "uncaged-plan-home-"));
});
afterAll(() => {
  for (const folder of [cwd, home]) rmSync(folder, { recursive: true, force: true });
});

test("a step's session has its chosen id, is resumed, and is replaced when it is lost", async () => {
  const replies: Reply[] = [
    { text: "slow ".repeat(200), tokenMs: 50 },
    { text: "gone on" },
    { text: "anew" },
  ];
  const server = await anthropicServer((_, nth) => replies[nth] ?? {});
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: home,
    ANTHROPIC_API_KEY: server.key,
    ANTHROPIC_BASE_URL: server.url,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    CLAUDE_CODE_MAX_RETRIES: "0",
  };
  const agent = claudeAgent({ command, graceMs: 1000 });
  const sessions: string[] = [];
  const perform = (prompt: string, more: Partial<StepRequest>, signal?: AbortSignal) => {
    const request = { stepId: "a", attempt: 1, prompt, resume: null, timeoutMs: 30_000, ...more };
    const known = { sessionId: crypto.randomUUID(), ...request };
    const thread = threadOf({ cwd, env, signal });
    return agent(known, {
      thread,
      onSession: (id) => sessions.push(id),
      environment: openEnvironment,
      createSubtask: () => Promise.reject(new Error("none")),
      notify: () => Promise.resolve(),
      outputs: () => [],
    });
  };
  const sessionId = crypto.randomUUID();
  try {
    // Kill the agent during its answer, as when its worker dies. The caller then knows only the chosen session id.
    const abort = new AbortController();
    const ended = failureOf(perform("do it", { sessionId }, abort.signal));
    await until(() => server.came.length > 0);
    abort.abort(new Error("killed"));
    expect(await ended).toEqual(new Error("killed"));
    expect(sessions).toEqual([sessionId]);
    expect((await perform("go on", { resume: sessionId })).output).toBe("gone on");
    expect(JSON.stringify(server.came[1]?.body.messages)).toContain("do it");
    expect(sessions).toHaveLength(2);
    expect(sessions[1]).not.toBe(sessionId);
    const lost = await perform("once more", { resume: crypto.randomUUID() });
    expect(lost.output).toBe("anew");
    expect(JSON.stringify(server.came[2]?.body.messages)).not.toContain("do it");
  } finally {
    await server.stop();
  }
}, 180_000);
