import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { openRoot } from "../packages/workflow/src/disk/root.ts";
import { signalWorkers } from "../packages/workflow/test/fixtures/store.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { follow, openLocalHost, settled, threadJson, type ThreadRef } from "@uncaged/workflow/host";
import { ledgerOfSteps } from "@uncaged/workflow-agents/ledger";
import { anthropicServer } from "../packages/workflow-agents/test/anthropic-server.ts";
import { expectCounted } from "../packages/workflow-agents/test/counted.ts";
import type { Counted } from "../packages/workflow-agents/test/wire.ts";
import { readWhole } from "../packages/cli-workflow/src/output/thread.ts";
import { top } from "./source.ts";
import { warningsOn } from "./warned.ts";
import { claudeCodeFolder, claudeCodeHands, sdkHands } from "./hands.ts";
import { aloud, team } from "./solve-issue/team.ts";
import { some } from "../packages/workflow/test/fixtures/cases.ts";

/* Runs the complete example offline, through the real SDK and through a real command, and after a kill. */
const folder = mkdtempSync(join(tmpdir(), "uncaged-solve-"));
const host = openLocalHost({ path: join(folder, "root") });
const roles = ["planner", "coder", "tester", "coder", "tester", "reviewer"];
const idleBefore = process.env.UNCAGED_WORKFLOW_IDLE_MS;

beforeAll(async () => {
  process.env.UNCAGED_WORKFLOW_IDLE_MS = "500";
  await host.register("solve-issue", join(top, "examples/solve-issue/workflow.ts"));
}, 180_000);

afterAll(() => {
  if (idleBefore === undefined) delete process.env.UNCAGED_WORKFLOW_IDLE_MS;
  else process.env.UNCAGED_WORKFLOW_IDLE_MS = idleBefore;
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

/** Creates a repository with failing tests. */
function repository(): string {
  const cwd = mkdtempSync(join(folder, "median-"));
  const script = join(top, "examples/solve-issue/make-repository.sh");
  expect(Bun.spawnSync(["sh", script, cwd]).exitCode).toBe(0);
  expect(testsPass(cwd)).toBe(false);
  return cwd;
}

const testsPass = (cwd: string): boolean =>
  Bun.spawnSync(["node", "--test"], { cwd }).exitCode === 0;

type Started = ThreadRef & { threadId: string };

type Given = {
  options?: Record<string, unknown>;
  env?: Record<string, string>;
  maxRounds?: number;
};

const environment = (env: Given["env"]) => ({ PATH: process.env.PATH ?? "", HOME: folder, ...env });

async function start(cwd: string, { options, env, maxRounds }: Given = {}): Promise<Started> {
  const { threadId, hash } = await host.start({
    workflow: "solve-issue",
    prompt: "median() is wrong for [4, 1, 3, 2]",
    options,
    cwd,
    env: environment(env),
    maxRounds,
  });
  return { threadId, hash };
}

/** Kills the thread's worker when the stream of a step contains a text. */
async function killWhileItStreams(ref: Started, step: number, text: string): Promise<void> {
  let streamed = "";
  for await (const item of follow(host, ref)) {
    if (item.kind === "end") throw new Error(`the thread ended: ${item.state.status}`);
    if (item.kind !== "event" || item.event.type !== "llm_token") continue;
    if (item.event.step !== step) continue;
    streamed += (item.event.payload as { delta: string }).delta;
    if (streamed.includes(text)) break;
  }
  await signalWorkers(openRoot({ path: host.root }), "SIGKILL");
}

test("the team runs offline, from a script", async () => {
  const cwd = repository();
  const ref = await start(cwd);
  const thread = threadJson(await settled(host, ref));
  expect(thread.steps.map(({ role }) => role)).toEqual(roles);
  expect(thread.result).toEqual({ returnCode: 0, summary: "solved in 2 rounds: see git diff" });
  expect(testsPass(cwd)).toBe(true);
  expect(ledgerOfSteps(thread.steps).attempts).toEqual([]);
});

/** Returns all usage that the server reported, including the interrupted answer. */
function reportedBy(came: readonly { reported: Counted }[]) {
  const sum = (name: keyof Counted) => came.reduce((all, { reported }) => all + reported[name], 0);
  return {
    input_tokens: sum("input"),
    output_tokens: sum("output"),
    thinking_tokens: sum("thinking"),
    cache_read_tokens: sum("cacheRead"),
    cache_write_tokens: sum("cacheWrite"),
  };
}

describe.each(
  some([
    { agent: "anthropic", hands: sdkHands },
    { agent: "claude-code", hands: claudeCodeHands },
  ]),
)("with $agent", ({ agent, hands }) => {
  test("the team is killed during an answer and resumed, and its usage equals the server's", async () => {
    let slow = 20;
    const server = await anthropicServer(team(hands, () => slow));
    const cwd = repository();
    const env = {
      PATH: `${claudeCodeFolder()}${delimiter}${process.env.PATH}`,
      ANTHROPIC_API_KEY: server.key,
      ANTHROPIC_BASE_URL: server.url,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    };
    const ref = await start(cwd, { options: { agent }, env });
    await killWhileItStreams(ref, 4, aloud.slice(0, 40));
    await server.came.at(-1)?.closed;
    const killed = threadJson(await settled(host, ref));
    expect(killed.status).toBe("interrupted");
    expect(killed.steps.map(({ role }) => role)).toEqual(["planner", "coder", "tester"]);
    expect(testsPass(cwd)).toBe(false);

    slow = 0;
    await host.control(ref, { kind: "resume", env: environment(env) });
    const thread = threadJson(await settled(host, ref));
    expect(thread).toMatchObject({ status: "completed", result: { returnCode: 0 } });
    expect(thread.steps.slice(0, 3)).toEqual(killed.steps);
    expect(thread.steps.map(({ role }) => role)).toEqual(roles);
    expect(testsPass(cwd)).toBe(true);

    const broken = server.came.filter(({ finished }) => !finished);
    expect(broken).toHaveLength(1);
    const { ledger } = await readWhole(host, ref);
    await expectCounted(host, [ref], [server]);
    expect(ledger.lost.usage).toEqual(reportedBy(broken));
    expect(ledger.lost.tokens).toBeGreaterThan(1);
    // The provider did not report the tokens of the interrupted answer.
    expect(ledger.unknown).toBe(1);
    expect(ledger.attempts).toContainEqual(
      expect.objectContaining({ kind: "lost", step: null, role: "coder" }),
    );
    expect(ledger.total.usage.thinking_tokens).toBeGreaterThan(0);
    expect(ledger.total.cost).toBeGreaterThan(ledger.lost.cost);
    expect(ledger.lost.cost).toBeGreaterThan(0);
    await server.stop();
  }, 180_000);
});

test("no step of an example violates its descriptor", async () => {
  expect(await warningsOn(host)).toEqual([]);
});
