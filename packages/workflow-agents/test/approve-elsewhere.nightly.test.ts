import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Host, settled } from "@uncaged/workflow/host";
import { bundlePath } from "../../workflow/src/storage/paths.ts";
import { ModelRuns, type Run } from "./model-runs.ts";
import type { Reply } from "./wire.ts";
import { some } from "../../workflow/test/fixtures/cases.ts";

/*
 * Approvals of threads that wait, forked onto other versions, and of the tools of an MCP server: an approval holds for its
 * call, wherever it was given, and a thread waits for its own answer alone.
 */
setDefaultTimeout(60_000);
let models: ModelRuns;
let host: Host;

type Body = { messages: { role: string; content: unknown }[]; tools?: { name: string }[] };

function reply(body: object): Reply {
  const { messages, tools = [] } = body as Body;
  if (messages.some(({ role }) => role === "assistant"))
    return { text: JSON.stringify(messages.at(-1)) };
  const isMcp = tools.some(({ name }) => name === "sums__add");
  return {
    tools: [
      isMcp ? { name: "sums__add", input: { a: 1, b: 2 } } : { name: "deploy", input: { n: 2 } },
    ],
  };
}

beforeAll(async () => {
  models = await ModelRuns.open(reply);
  ({ host } = models);
  const { hash } = await host.register("made", join(import.meta.dir, "approve/approve.ts"));
  const text = readFileSync(bundlePath(models.root, hash), "utf8")
    .replaceAll("the-command", process.execPath)
    .replaceAll("the-server", join(import.meta.dir, "mcp/server.ts"));
  const versions = {
    approve: text,
    same: `${text}\n// another version\n`,
    other: text.replaceAll("Deploy what you are asked to", "Deploy with care"),
  };
  expect(new Set(Object.values(versions)).size).toBe(3);
  for (const [name, version] of Object.entries(versions)) {
    const file = join(models.folder, `${name}.esm.js`);
    writeFileSync(file, version);
    await host.register(name, file);
  }
}, 180_000);
afterAll(() => models.close());

const question = async ({ ref }: Run) => {
  const view = await settled(host, ref);
  return view.status === "waiting" ? view.question.meta : view.status;
};
const answer = ({ ref, env, cwd }: Run, value: unknown) => {
  const input = { content: JSON.stringify(value), value };
  return host.control(ref, { kind: "answer", input, env, cwd });
};
const forked = async (run: Run, on: string, atStep: number): Promise<Run> => ({
  ...run,
  ref: await host.fork(run.ref, { on, keep: { atStep }, env: run.env }),
});
const marksIn = (run: Run) => models.marksOf(run);

test.each(
  some([
    ["another", "other"],
    ["the same", "same"],
  ]),
)(
  "a thread that waits is forked onto a version with %s prompt, and each waits for its own answer",
  async (_, on) => {
    const run = await models.start("approve", "claude");
    const asked = await question(run);
    expect(asked).toMatchObject({ for: "tool", input: { n: 2 } });
    const fork = await forked(run, on, 1);
    // The question that it was forked with; no model is asked before it is answered.
    expect(await question(fork)).toMatchObject({ for: "tool", tool: "deploy", input: { n: 2 } });
    expect([models.servers.claude.came.length, marksIn(run)]).toEqual([1, []]);
    await models.kill();
    await answer(fork, true);
    if (on === "other") {
      // The model is asked with other words, so what it asks for is another call.
      expect(await question(fork)).toMatchObject({ for: "tool", tool: "deploy", input: { n: 2 } });
      expect([models.servers.claude.came.length, marksIn(run)]).toEqual([2, []]);
      await answer(fork, true);
    }
    expect(await question(fork)).toBe("completed");
    expect(marksIn(run)).toEqual(["2"]);
    expect(await question(run)).toEqual(asked);
    await answer(run, { approve: false, reason: "no more" });
    expect(await question(run)).toBe("completed");
    expect(marksIn(run)).toEqual(["2"]);
    await models.expectCounted(run.ref, fork.ref);
  },
);

test("an approval that was given holds on another version for the same conversation, and for no other", async () => {
  const run = await models.start("approve", "claude");
  await question(run);
  await answer(run, true);
  expect(await question(run)).toBe("completed");
  const same = await forked(run, "same", 2);
  expect(await question(same)).toBe("completed");
  expect(marksIn(run)).toEqual(["2", "2"]);
  const other = await forked(run, "other", 2);
  expect(await question(other)).toMatchObject({ for: "tool", input: { n: 2 } });
  await answer(other, false);
  expect(await question(other)).toBe("completed");
  expect(marksIn(run)).toEqual(["2", "2"]);
  await models.expectCounted(run.ref, same.ref, other.ref);
});

test.each(some(["killed", "nothing"]))(
  "a tool of an MCP server waits for its approval: %s",
  async (how) => {
    const run = await models.start("approve", "adder");
    expect(await question(run)).toMatchObject({
      for: "tool",
      tool: "sums__add",
      input: { a: 1, b: 2 },
    });
    if (how === "killed") await models.kill();
    await answer(run, { approve: true, input: { a: 20, b: 22 } });
    const view = await settled(host, run.ref);
    expect([view.status, view.steps.at(-1)?.content]).toEqual([
      "completed",
      expect.stringContaining("42"),
    ]);
    expect(models.servers.claude.came.length).toBe(2);
    await models.expectCounted(run.ref);
  },
);
