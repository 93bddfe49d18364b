import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLocalHost, settled } from "@uncaged/workflow/host";
import { anthropicServer } from "../../workflow-agents/test/anthropic-server.ts";

const folder = mkdtempSync(join(tmpdir(), "uncaged-marking-"));
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

test("an agent of a graph goes on with the conversation that its killed worker had", async () => {
  const host = openLocalHost({ path: join(folder, "root") });
  const server = await anthropicServer(({ messages }) => {
    const turn = messages.filter(({ role }) => role === "assistant").length + 1;
    return turn > 3 ? { text: "done" } : { tools: [{ name: "mark", input: { n: turn } }] };
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
  // The second call was at work, and is made again; no turn is asked for twice.
  expect(readFileSync(join(folder, "marks"), "utf8").trim().split("\n").map(Number)).toEqual([
    1, 2, 2, 3,
  ]);
  expect(server.came.length).toBe(4);
  await server.stop();
}, 60_000);
