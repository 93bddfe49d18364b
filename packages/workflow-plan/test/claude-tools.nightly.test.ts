import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { runThread } from "@uncaged/workflow/testing";
import { anthropicServer } from "../../workflow-agents/test/anthropic-server.ts";
import type { Reply } from "../../workflow-agents/test/wire.ts";
import { planBundle } from "../src/entry/index.ts";
import { plan, result, step } from "./parts.ts";
import { ownProgram } from "./surroundings.ts";

/* The real Claude Code with our tools and our check of its commands, against a server of the provider's protocol. */
const agents = createRequire(import.meta.resolve("@uncaged/workflow-agents"));
const wrapper = createRequire(agents.resolve("@anthropic-ai/claude-code/package.json"));
const own = `@anthropic-ai/claude-code-${process.platform}-${process.arch}/package.json`;
const command = join(dirname(wrapper.resolve(own)), "claude");
const missing = Bun.which("bwrap") ? "" : " (left out: bubblewrap is not installed)";

const top = mkdtempSync(join(tmpdir(), "uncaged-plan-tools-"));
afterAll(() => rmSync(top, { recursive: true, force: true }));

const token = "value-of-a-token";
const bash = (words: string) => ({
  name: "Bash",
  input: { command: words, description: "Does it" },
});
const tool = (name: string, input: object) => ({ name: `mcp__cueclaw__cueclaw_${name}`, input });

async function ran(sandbox: "off" | "bubblewrap") {
  const [home, planHome, cwd] = ["home", "plans", "project"].map((name) =>
    join(top, sandbox, name),
  );
  for (const folder of [home, planHome, cwd])
    mkdirSync(folder ?? "", { recursive: true, mode: 0o700 });
  writeFileSync(join(planHome ?? "", "secrets.json"), JSON.stringify({ A_TOKEN: token }), {
    mode: 0o600,
  });
  const replies: Reply[] = [
    {
      tools: [
        bash("sudo touch refused; touch ./refused"),
        bash("touch allowed 2>/dev/null; echo $A_TOKEN in $PWD"),
        { name: "Write", input: { file_path: "/etc/uncaged-refused", content: "x" } },
        tool("report_progress", { message: "half of it" }),
        tool("notify", { message: `done with ${token}` }),
        tool("create_subtask", { id: "more", description: "do more" }),
        tool("create_subtask", { id: "a", description: "again" }),
      ],
    },
    { text: `all of it, with ${token}` },
    { tools: [tool("get_context", {})] },
    { text: "more" },
  ];
  const server = await anthropicServer((_, nth) => replies[nth] ?? {});
  const env = {
    ...{ PATH: process.env.PATH ?? "", HOME: home ?? "" },
    ...{ ANTHROPIC_API_KEY: server.key, ANTHROPIC_BASE_URL: server.url },
    ...{ CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", CLAUDE_CODE_MAX_RETRIES: "0" },
  };
  try {
    const definition = plan([step("a", [], { description: "use A_TOKEN" })]);
    const bundle = planBundle({ ...definition, metadata: { cwd, sandbox } });
    const outcome = await runThread(bundle.run, {
      ...{ maxRounds: 1000, env, cwd },
      options: { planHome, workflowId: "wf_x", agentCommand: command, planProgram: ownProgram },
    });
    const results = server.came.flatMap(({ body }) => {
      const last = body.messages?.at(-1)?.content;
      return Array.isArray(last) ? last.filter((block) => block.type === "tool_result") : [];
    });
    return { outcome, cwd: cwd ?? "", results: results.map((block) => JSON.stringify(block)) };
  } finally {
    await server.stop();
  }
}

for (const sandbox of ["off", "bubblewrap"] as const) {
  const left = sandbox === "off" ? "" : missing;
  test.skipIf(left !== "")(
    `Claude Code has the step's tools, and never executes a refused command; sandbox: ${sandbox}${left}`,
    async () => {
      const { cwd, outcome, results } = await ran(sandbox);
      expect(result(outcome)).toEqual({ returnCode: 0, summary: "2 steps succeeded" });
      const [refused, allowed, written, progress, notice, subtask, twice, context] = results;
      expect(refused).toContain("sudo is not allowed");
      expect(existsSync(join(cwd, "refused"))).toBe(false);
      const where = sandbox === "off" ? cwd : "/workspace/project";
      expect(allowed).toContain(`${token} in ${where}`);
      expect(existsSync(join(cwd, "allowed"))).toBe(true);
      expect(written).toContain("it writes to /etc/uncaged-refused");
      expect(existsSync("/etc/uncaged-refused")).toBe(false);
      expect(progress).toContain("reported");
      expect(notice).toContain("sent");
      expect(subtask).toContain("more");
      expect(twice).toContain("the step depends on itself");
      expect(context).toContain("all of it, with [secret:A_TOKEN]");
      const records = JSON.stringify(outcome);
      expect(records).toContain("done with [secret:A_TOKEN]");
      expect(records).not.toContain(token);
      const ipc = readdirSync(join(cwd, "../plans/ipc"), { recursive: true }).map(String);
      expect(ipc.filter((path) => path.endsWith(".json"))).toEqual([]);
    },
    180_000,
  );
}
