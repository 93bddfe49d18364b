import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { openLocalHost, settled, threadJson, type ThreadRef } from "@uncaged/workflow/host";
import { anthropicServer } from "../packages/workflow-agents/test/anthropic-server.ts";
import type { Reply } from "../packages/workflow-agents/test/wire.ts";
import { claudeCodeFolder, claudeCodeHands, type Hands, sdkHands } from "./hands.ts";
import { top } from "./source.ts";
import { warningsOn } from "./warned.ts";
import { some } from "../packages/workflow/test/fixtures/cases.ts";

/* Runs the complete example: offline, through the real SDK, and through a real command. */
const folder = mkdtempSync(join(tmpdir(), "uncaged-coding-team-"));
const host = openLocalHost({ path: join(folder, "root") });
const example = join(top, "examples/coding-team");

beforeAll(async () => {
  await host.register("coding-team", join(example, "workflow.ts"));
}, 180_000);
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

function repository(): string {
  const cwd = mkdtempSync(join(folder, "words-"));
  const made = Bun.spawnSync(["sh", join(example, "make-repository.sh"), cwd]);
  expect(made.exitCode).toBe(0);
  return cwd;
}

const testsPass = (cwd: string): boolean =>
  Bun.spawnSync(["node", "--test"], { cwd }).exitCode === 0;
const statusOf = (cwd: string): string =>
  Bun.spawnSync(["git", "status", "--porcelain"], { cwd }).stdout.toString();

type Body = { system?: unknown; messages: { content: unknown }[] };

const code = {
  slug: 'export const slug = (text) => text.toLowerCase().match(/[a-z0-9]+/g)?.join("-") ?? "";\n',
  count: `export function count(text) {
  const words = text.toLowerCase().match(/\\p{L}+/gu) ?? [];
  return Object.fromEntries(words.map((word) => [word, words.filter((one) => one === word).length]));
}
`,
};

/** Plays the team as a model would. With `quarrel`, both coders write a file of the same name. */
function team({ read, run, write }: Hands, quarrel = false) {
  return (body: Body): Reply => {
    const asked = JSON.stringify([body.system, body.messages]);
    const isAnswered = JSON.stringify(body.messages.at(-1)).includes("tool_result");
    const json = (fields: object) => ({ text: JSON.stringify(fields) });
    if (asked.includes("You plan how")) {
      if (!isAnswered) return { tools: [read("words.test.mjs")] };
      return json({ parts: ["PART slug", "PART count"] });
    }
    if (asked.includes("You review the change")) {
      if (!isAnswered) return { tools: [run("git log --stat")] };
      return json({ approved: true, fix: [] });
    }
    if (asked.includes("You resolve the conflicts")) {
      if (!isAnswered) return { tools: [write("NOTES", "both\n")] };
      return json({ resolved: ["NOTES"] });
    }
    // In a coder's request, the coder's own part precedes the text of the plan.
    const part =
      /PART count/.exec(asked)?.index === /PART \w/.exec(asked)?.index ? "count" : "slug";
    if (isAnswered) return json({ changed: [`${part}.mjs`] });
    const notes = quarrel ? [write("NOTES", `${part}\n`)] : [];
    return { tools: [write(`${part}.mjs`, code[part]), ...notes] };
  };
}

const environment = { PATH: process.env.PATH ?? "", HOME: folder };

async function start(cwd: string, agent?: string, env?: Record<string, string>) {
  return await host.start({
    workflow: "coding-team",
    prompt: "Write what the tests ask for",
    options: agent === undefined ? {} : { agent },
    cwd,
    env: { ...environment, ...env },
  });
}

async function answer(ref: ThreadRef, value: boolean) {
  const input = { content: String(value), value };
  await host.control(ref, { kind: "answer", input, env: environment });
  return threadJson(await settled(host, ref)).result;
}

async function restOf(ref: ThreadRef) {
  const { result, steps } = threadJson(await settled(host, ref));
  return { roles: steps.map(({ role }) => role), result: result ?? null };
}

const asked = ["planner", "coder", "coder", "merger", "tester", "reviewer", "changes", "__wait__"];

test("the team runs offline, and merges nothing without approval", async () => {
  const cwd = repository();
  const ref = await start(cwd);
  expect(await restOf(ref)).toEqual({ roles: asked, result: null });
  expect([statusOf(cwd), testsPass(cwd)]).toEqual(["", false]);
  expect((await answer(ref, false))?.summary).toStartWith("not merged: the work is in uncaged/");
  expect(testsPass(cwd)).toBe(false);

  const again = await host.fork(ref, { keep: { atStep: asked.length }, env: environment });
  expect(await answer(again, true)).toEqual({ returnCode: 0, summary: "merged in 1 round" });
  expect([statusOf(cwd), testsPass(cwd)]).toEqual(["", true]);
}, 180_000);

test.each(
  some(
    [
      { agent: "anthropic", hands: sdkHands },
      { agent: "claude-code", hands: claudeCodeHands },
    ],
    0,
    1,
  ),
)(
  "with $agent the team codes concurrently, and its work is merged",
  async ({ agent, hands }) => {
    const server = await anthropicServer(team(hands));
    const cwd = repository();
    const ref = await start(cwd, agent, {
      PATH: `${claudeCodeFolder()}${delimiter}${process.env.PATH}`,
      ANTHROPIC_API_KEY: server.key,
      ANTHROPIC_BASE_URL: server.url,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    });
    expect(await restOf(ref)).toEqual({ roles: asked, result: null });
    expect((await answer(ref, true))?.summary).toBe("merged in 1 round");
    expect([statusOf(cwd), testsPass(cwd)]).toEqual(["", true]);
    await server.stop();
  },
  180_000,
);

test("the team resolves conflicting changes of two coders", async () => {
  const server = await anthropicServer(team(sdkHands, true));
  const cwd = repository();
  const env = { ANTHROPIC_API_KEY: server.key, ANTHROPIC_BASE_URL: server.url };
  const ref = await start(cwd, "anthropic", env);
  const roles = asked.toSpliced(4, 0, "resolver");
  expect(await restOf(ref)).toEqual({ roles, result: null });
  expect((await answer(ref, true))?.summary).toBe("merged in 1 round");
  expect(readFileSync(join(cwd, "NOTES"), "utf8")).toBe("both\n");
  await server.stop();
}, 180_000);

test("no step of the example violates its descriptor", async () => {
  expect(await warningsOn(host)).toEqual([]);
});
