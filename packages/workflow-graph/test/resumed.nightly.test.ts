import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLocalHost, settled } from "@uncaged/workflow/host";
import { openRoot } from "../../workflow/src/storage/root.ts";
import { signalWorkers } from "../../workflow/test/fixtures/store.ts";
import { anthropicServer } from "../../workflow-agents/test/anthropic-server.ts";
import { openaiServer } from "../../workflow-agents/test/openai-server.ts";
import { expectCounted } from "../../workflow-agents/test/counted.ts";

const folder = mkdtempSync(join(tmpdir(), "uncaged-marking-"));
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

test("an agent of a graph goes on with the conversation that its killed worker had", async () => {
  const host = openLocalHost({ path: join(folder, "root") });
  const isSummary = (text: string) => text.includes("Your context is nearly full");
  const server = await anthropicServer(({ messages }) => {
    const text = JSON.stringify(messages);
    const last = Math.max(
      0,
      ...[...text.matchAll(/(?:marked|until) (\d)/g)].map(([, n]) => Number(n)),
    );
    if (isSummary(text)) return { text: `I marked until ${last}.` };
    return last >= 6 ? { text: "done" } : { tools: [{ name: "mark", input: { n: last + 1 } }] };
  });
  writeFileSync(join(folder, "die"), "");
  const { hash } = await host.register("marking", join(import.meta.dir, "bundles/marking.ts"));
  const env = {
    ...{ PATH: process.env.PATH ?? "", ANTHROPIC_API_KEY: server.key },
    ANTHROPIC_BASE_URL: server.url,
  };
  const ref = await host.start({ workflow: hash, prompt: "Mark.", env, cwd: folder });
  expect((await settled(host, ref)).status).toBe("interrupted");
  await host.control(ref, { kind: "resume", env, cwd: folder });
  const { status, steps } = await settled(host, ref);
  expect([status, steps.at(-1)?.content]).toEqual(["completed", "done"]);
  // The fourth call was at work, and is made again; no turn is asked for twice, and no summary.
  const marks = readFileSync(join(folder, "marks"), "utf8").trim().split("\n").map(Number);
  expect(marks).toEqual([1, 2, 3, 4, 4, 5, 6]);
  const bodies = server.came.map(({ body }) => JSON.stringify(body.messages));
  expect(new Set(bodies).size).toBe(bodies.length);
  const summaries = bodies.filter(isSummary).length;
  expect(summaries).toBeGreaterThan(0);
  expect(bodies.length).toBe(6 + 1 + summaries);
  expect(bodies.at(-1)).toContain("This is your own summary of it");
  await expectCounted(host, [ref], [server]);
  await server.stop();
}, 60_000);

test("agents of a graph ask for approvals while they work, and go on after their worker has left", async () => {
  const host = openLocalHost({ path: join(folder, "root") });
  const server = await anthropicServer(({ messages, system }) => {
    if (messages.length > 1) return { text: JSON.stringify(messages.at(-1)) };
    const n = JSON.stringify(system).includes("one") ? 1 : 2;
    return { tools: [{ name: "deploy", input: { n } }] };
  });
  const { hash } = await host.register("asking", join(import.meta.dir, "bundles/asking.ts"));
  const env = {
    ...{ PATH: process.env.PATH ?? "", ANTHROPIC_API_KEY: server.key },
    ANTHROPIC_BASE_URL: server.url,
  };
  const ref = await host.start({ workflow: hash, prompt: "Deploy.", env, cwd: folder });
  for (const value of [true, { approve: false, reason: "not today" }]) {
    const view = await settled(host, ref);
    expect(view.status === "waiting" ? view.question.meta : view).toMatchObject({ for: "tool" });
    await signalWorkers(openRoot({ path: join(folder, "root") }), "SIGKILL");
    const input = { content: JSON.stringify(value), value };
    await host.control(ref, { kind: "answer", input, env, cwd: folder });
  }
  const { status, steps } = await settled(host, ref);
  expect(status).toBe("completed");
  const roles = steps.map(({ role }) => role);
  expect(roles.filter((role) => role === "one" || role === "two")).toHaveLength(2);
  expect(readFileSync(join(folder, "deployed"), "utf8").trim().split("\n")).toHaveLength(1);
  expect(JSON.stringify(steps)).toContain("a person refused this call: not today");
  expect(server.came.length).toBe(4);
  await expectCounted(host, [ref], [server]);
  await server.stop();
}, 60_000);

test("an agent with a subagent asks for the approval of its own calls, as its subagent does for its own", async () => {
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
