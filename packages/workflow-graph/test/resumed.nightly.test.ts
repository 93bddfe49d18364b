import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLocalHost, settled } from "@uncaged/workflow/host";
import { openRoot } from "../../workflow/src/disk/root.ts";
import { signalWorkers } from "../../workflow/test/fixtures/store.ts";
import { anthropicServer } from "../../workflow-agents/test/anthropic-server.ts";
import { openaiServer } from "../../workflow-agents/test/openai-server.ts";
import { expectCounted } from "../../workflow-agents/test/counted.ts";

const folder = mkdtempSync(join(tmpdir(), "uncaged-marking-"));
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

test("an agent with a subagent asks for the approval of its own calls, and so does the subagent", async () => {
  const host = openLocalHost({ path: join(folder, "root") });
  const lead = await anthropicServer(({ messages }) => {
    if (messages.length > 1) return { text: JSON.stringify(messages.at(-1)) };
    const asked = { name: "subagent_helper_helper", input: { message: "Deploy." } };
    return { tools: [{ name: "deploy", input: { n: 1 } }, asked] };
  });
  const helper = await openaiServer(({ messages }) => {
    const { role, content } = messages.at(-1) ?? {};
    return role === "tool"
      ? { text: JSON.stringify(content) }
      : { tools: [{ name: "deploy", input: { n: 2 } }] };
  });
  const { hash } = await host.register("team", join(import.meta.dir, "bundles/asking-team.ts"));
  const env = {
    PATH: process.env.PATH ?? "",
    ...{ ANTHROPIC_API_KEY: lead.key, ANTHROPIC_BASE_URL: lead.url },
    ...{ OPENAI_API_KEY: helper.key, OPENAI_BASE_URL: helper.url },
  };
  const ref = await host.start({ workflow: hash, prompt: "Deploy.", env, cwd: folder });
  for (const [input, stepID] of [
    [{ n: 1 }, "lead"],
    [{ n: 2 }, "helper"],
  ] as const) {
    const view = await settled(host, ref);
    expect(view.status === "waiting" ? view.question.meta : view).toMatchObject({
      ...{ for: "tool", tool: "deploy", input, stepID },
    });
    await signalWorkers(openRoot({ path: join(folder, "root") }), "SIGKILL");
    await host.control(ref, {
      ...{ kind: "answer", input: { content: "true", value: true }, env, cwd: folder },
    });
  }
  const { status, steps } = await settled(host, ref);
  expect([status, JSON.stringify(steps)]).toEqual([
    "completed",
    expect.stringMatching(/deployed 1.*deployed 2/),
  ]);
  const deployed = readFileSync(join(folder, "deployed-by-a-team"), "utf8");
  expect(deployed.trim().split("\n").sort()).toEqual(["1", "2"]);
  expect([lead.came.length, helper.came.length]).toEqual([2, 2]);
  await expectCounted(host, [ref], [lead, helper]);
  for (const server of [lead, helper]) await server.stop();
}, 60_000);
