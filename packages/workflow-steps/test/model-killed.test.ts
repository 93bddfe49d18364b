import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLocalHost, settled } from "@uncaged/workflow/host";
import { anthropicServer } from "../../workflow-agents/test/anthropic-server.ts";
import { expectCounted } from "../../workflow-agents/test/counted.ts";
import { stepsSource } from "../src/entry/source.ts";
import { openRoot } from "../../workflow/src/disk/root.ts";
import { signalWorkers } from "../../workflow/test/fixtures/store.ts";

const folder = mkdtempSync(join(tmpdir(), "uncaged-model-killed-"));
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

const document = {
  version: "3.18",
  name: "ask",
  registry: { vars: ["$answer(STRING)"] },
  steps: [
    {
      id: "LLM_Ask",
      in: { model: "claude-opus-5-5", prompt: "How much is it?", tools: ["ReadFile"] },
      out: "$answer",
      next: "Stop_End",
    },
    { id: "Stop_End" },
  ],
};

test("a model step continues the conversation of its killed worker", async () => {
  const path = join(folder, "root");
  const host = openLocalHost({ path });
  let isKilled = false;
  const server = await anthropicServer(({ messages }) => {
    const turn = messages.filter(({ role }) => role === "assistant").length + 1;
    if (turn === 1) return { tools: [{ name: "readFile", input: { path: "a.txt" } }] };
    if (isKilled) return { text: "It is 42." };
    isKilled = true;
    void signalWorkers(openRoot({ path }), "SIGKILL");
    return { fault: { kind: "hang" } };
  });
  writeFileSync(join(folder, "a.txt"), "42");
  writeFileSync(join(folder, "ask.json"), JSON.stringify(document));
  const sources = [stepsSource(() => undefined)];
  const { hash } = await host.register("ask", join(folder, "ask.json"), { sources });
  const env = {
    ...{ PATH: process.env.PATH ?? "", ANTHROPIC_API_KEY: server.key },
    ANTHROPIC_BASE_URL: server.url,
  };
  const ref = await host.start({ workflow: hash, prompt: "", env, cwd: folder });
  expect((await settled(host, ref)).status).toBe("interrupted");
  await host.control(ref, { kind: "resume", env, cwd: folder });
  const view = await settled(host, ref);
  expect([view.status, JSON.stringify(view.steps)]).toEqual([
    "completed",
    expect.stringContaining("It is 42."),
  ]);
  // The first turn was requested once, and the second twice with identical bodies.
  const bodies = server.came.map(({ body }) => JSON.stringify(body));
  expect(bodies).toHaveLength(3);
  expect(bodies[2]).toBe(bodies[1]);
  await expectCounted(host, [ref], [server]);
  await server.stop();
}, 60_000);
