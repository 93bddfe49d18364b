import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLocalHost, settled } from "@uncaged/workflow/host";
import { openRoot } from "../../workflow/src/disk/root.ts";
import { signalWorkers } from "../../workflow/test/fixtures/store.ts";
import { anthropicServer } from "./anthropic-server.ts";
import { expectCounted } from "./counted.ts";
import type { Reply } from "./wire.ts";

/*
 * Tests a role whose worker is killed while the model summarises the conversation, and after the summary is recorded.
 */
const folder = mkdtempSync(join(tmpdir(), "uncaged-compaction-"));
const host = openLocalHost({ path: join(folder, "root") });
const root = openRoot({ path: join(folder, "root") });

/** Selects the request that kills the worker. Reset after the kill. */
let fatal: ((text: string) => boolean) | null = null;
let summaries = 0;

const isSummary = (text: string) => text.includes("Your context is nearly full");
const isAfterSummary = (text: string) => text.includes("This is your own summary of it");

function reply(body: object): Reply {
  const text = JSON.stringify((body as { messages: unknown }).messages);
  if (fatal?.(text)) {
    fatal = null;
    void signalWorkers(root, "SIGKILL");
    return { fault: { kind: "hang" } };
  }
  const seen = [...text.matchAll(/(?:found|until) (\d+)/g)].map(([, n]) => Number(n));
  const last = Math.max(0, ...seen);
  // Each summary differs, so that a request shows which summary it contains.
  if (isSummary(text)) return { text: `Summary ${(summaries += 1)}: I looked until ${last}.` };
  if (last >= 8) return { text: "done" };
  return { tools: [{ name: "look", input: { n: last + 1 } }] };
}

let server: Awaited<ReturnType<typeof anthropicServer>>;
beforeAll(async () => {
  server = await anthropicServer(reply);
  await host.register("compaction", join(import.meta.dir, "compaction/compaction.ts"));
}, 180_000);
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

const withoutIds = (text: string): string => text.replace(/"toolu_\d+_/g, '"toolu_');

async function played(name: string, at: typeof fatal) {
  const cwd = mkdtempSync(join(folder, name));
  server.came.splice(0);
  [fatal, summaries] = [at, 0];
  const env = {
    PATH: process.env.PATH ?? "",
    ...{ ANTHROPIC_API_KEY: server.key, ANTHROPIC_BASE_URL: server.url },
  };
  const ref = await host.start({ workflow: "compaction", prompt: "look", env, cwd });
  let view = await settled(host, ref);
  if (at) {
    expect(view.status).toBe("interrupted");
    await host.control(ref, { kind: "resume", env, cwd });
    view = await settled(host, ref);
  }
  expect([view.status, view.steps[0]?.content ?? view]).toEqual(["completed", "done"]);
  await expectCounted(host, [ref], [server]);
  expect(readFileSync(join(cwd, "marks"), "utf8")).toBe("1\n2\n3\n4\n5\n6\n7\n8\n");
  return server.came.map(({ body }) => withoutIds(JSON.stringify(body)));
}

test("a conversation continues after a kill during or after its summary, and a recorded summary is used", async () => {
  const whole = await played("whole", null);
  expect(whole.filter(isSummary).length).toBeGreaterThan(0);
  const moments = { asked: isSummary, taken: isAfterSummary };
  for (const [name, moment] of Object.entries(moments)) {
    const bodies = await played(name, moment);
    const twice = bodies.findIndex(moment);
    expect([name, bodies[twice + 1]]).toEqual([name, bodies[twice] ?? ""]);
    expect(bodies.toSpliced(twice, 1)).toEqual(whole);
  }
}, 180_000);
