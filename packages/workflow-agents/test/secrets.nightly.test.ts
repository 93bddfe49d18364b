import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLocalHost, settled, type ThreadRef } from "@uncaged/workflow/host";
import { openRoot } from "../../workflow/src/disk/root.ts";
import { signalWorkers } from "../../workflow/test/fixtures/store.ts";
import { anthropicServer } from "./anthropic-server.ts";
import { expectCounted } from "./counted.ts";
import { openaiServer } from "./openai-server.ts";
import { responsesServer } from "./responses-server.ts";
import type { Reply, WireServer } from "./wire.ts";

/*
 * Tests models, tools, MCP servers and providers that repeat secrets of the environment. No file of the storage root
 * may contain a secret.
 */
const folder = mkdtempSync(join(tmpdir(), "uncaged-secrets-"));
const host = openLocalHost({ path: join(folder, "root") });

const secrets = {
  DB_PWD: "planted-pwd-0123456789",
  SUMS_TOKEN: "planted-token-0123456789",
  DATABASE_URL: "planted-pass-0123456789",
  GATEWAY_HEADERS: "planted-header-0123456789",
};
// The key of the test servers.
const key = "sk-test-0123456789abcdef";
const planted = [key, ...Object.values(secrets)];
const all = planted.join(" ");

const clean: Reply = { text: "It is done." };
const leaking = (name = "leak", input: object = { text: all }): Reply => ({
  ...{ thinking: `I know ${all}`, text: `I say ${all}. ` },
  tools: [{ name, input }],
});
const refusal = (status: number, type: string): Reply => ({
  fault: { kind: "status", status, type, message: `no, ${all}` },
});
const found: Reply["hosted"] = [
  { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: all } },
  {
    ...{ type: "web_search_tool_result", tool_use_id: "srvtoolu_1" },
    content: [{ type: "web_search_result", url: `https://x.test/?q=${key}`, title: all }],
  },
];

/** The answers of each role's model, and the type of an event that proves that the thread reached the case. */
const cases: Record<string, { replies: Reply[]; shows: string; also?: Record<string, Reply[]> }> = {
  turns: { replies: [leaking(), clean], shows: "llm_tool_result" },
  answer: { replies: [leaking(), { text: `It is ${all}` }], shows: "llm_tool_result" },
  killed: { replies: [leaking(), { fault: { kind: "hang" } }, clean], shows: "llm_resumed" },
  fields: {
    replies: [leaking(), { text: JSON.stringify({ done: all }) }, { text: '{"done": true}' }],
    shows: "step_done",
  },
  handoff: {
    replies: [leaking(), { text: '{"handoff": "turns"}' }],
    also: { turns: [leaking(), clean] },
    shows: "step_done",
  },
  asTool: {
    replies: [leaking("inner", { message: all }), clean],
    also: { inner: [leaking(), { text: `done, ${all}` }] },
    shows: "llm_tool_result",
  },
  compaction: { replies: [leaking(), leaking(), leaking(), clean], shows: "llm_compacted" },
  fallback: {
    replies: [leaking(), refusal(529, "overloaded_error"), leaking(), clean],
    shows: "llm_fallback",
  },
  retry: { replies: [leaking(), refusal(529, "overloaded_error"), clean], shows: "llm_retry" },
  pictures: { replies: [leaking(), clean], shows: "llm_tool_result" },
  failing: { replies: [leaking(), clean], shows: "tool_error" },
  chat: { replies: [leaking(), clean], shows: "llm_tool_result" },
  responses: { replies: [leaking(), clean], shows: "llm_tool_result" },
  hosted: {
    replies: [{ ...leaking(), hosted: found }, clean],
    shows: "llm_tool_result",
  },
  mcp: { replies: [leaking("sums__env", {}), clean], shows: "llm_tool_result" },
  refused: { replies: [leaking(), refusal(400, "invalid_request_error")], shows: "llm_error" },
};

let scripts: Record<string, Reply[]> = {};
let sent = "";
function reply(body: object): Reply {
  const text = JSON.stringify(body);
  sent += text;
  if (text.includes("Your context is nearly full")) return { text: `I know ${all}` };
  const [, name = ""] = /case:(\w+)/.exec(text) ?? [];
  const next = scripts[name]?.shift() ?? clean;
  if (next.fault?.kind === "hang") void signalWorkers(openRoot({ path: host.root }), "SIGKILL");
  return next;
}

let servers: Record<"claude" | "gpt" | "responses", WireServer<{ model: string }>>;
beforeAll(async () => {
  servers = {
    claude: await anthropicServer(reply),
    gpt: await openaiServer(reply),
    responses: await responsesServer(reply),
  };
  await host.register("secrets", join(import.meta.dir, "secrets/secrets.ts"));
}, 180_000);
afterAll(async () => {
  for (const server of Object.values(servers)) await server.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

/**
 * Returns the places in the storage root that contain a secret, plain or as base64: the file's name and the preceding
 * text.
 */
function leaks(): string[] {
  const forms = planted.flatMap((secret) => [secret, Buffer.from(secret).toString("base64")]);
  const entries = readdirSync(host.root, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .flatMap(({ parentPath, name }) => {
      const text = readFileSync(join(parentPath, name), "latin1");
      return forms.flatMap((form) => {
        const at = text.indexOf(form);
        return at < 0 ? [] : [`${name}: ${text.slice(Math.max(0, at - 80), at + form.length)}`];
      });
    });
}

type Case = (typeof cases)[string];
async function play(name: string, { replies, also, shows }: Case): Promise<ThreadRef> {
  scripts = { [name]: [...replies], ...structuredClone(also) };
  sent = "";
  const cwd = join(folder, name);
  mkdirSync(cwd, { recursive: true });
  const { claude, gpt, responses } = servers;
  for (const { came } of [claude, gpt, responses]) came.splice(0);
  const env = {
    PATH: process.env.PATH ?? "",
    ...{ ANTHROPIC_API_KEY: claude.key, ANTHROPIC_BASE_URL: claude.url },
    OPENAI_API_KEY: gpt.key,
    OPENAI_BASE_URL: name === "responses" ? responses.url : gpt.url,
    ...{ BUN: process.execPath, SUMS: join(import.meta.dir, "mcp/server.ts") },
    ...{ DB_PWD: secrets.DB_PWD, SUMS_TOKEN: secrets.SUMS_TOKEN },
    DATABASE_URL: `postgres://me:${secrets.DATABASE_URL}@db.test/x`,
    GATEWAY_HEADERS: `X-Gateway-Token: ${secrets.GATEWAY_HEADERS}`,
  };
  const ref = await host.start({ workflow: "secrets", prompt: name, env, cwd });
  let view = await settled(host, ref);
  if (view.status === "interrupted") {
    await host.control(ref, { kind: "resume", env, cwd });
    view = await settled(host, ref);
  }
  expect([view.status, view]).toEqual([name === "refused" ? "failed" : "completed", view]);
  await expectCounted(host, [ref], [claude, gpt, responses]);
  // Each secret passed through the thread, so it could have been recorded.
  for (const secret of planted) expect([secret, sent.includes(secret)]).toEqual([secret, true]);
  const infos = readdirSync(join(host.root, "logs", ref.hash))
    .filter((file) => file.startsWith(ref.threadId))
    .map((file) => readFileSync(join(host.root, "logs", ref.hash, file), "utf8"));
  expect(infos.join("")).toContain(`"${shows}"`);
  return ref;
}

test.each(Object.entries(cases))(
  "the storage root contains no secret after the case '%s'",
  async (name, one) => {
    await play(name, one);
    expect(leaks()).toEqual([]);
  },
  180_000,
);

test("secrets are masked in an agent's answer, even in the fields of its step", async () => {
  const noted = { text: JSON.stringify({ done: true, note: `it is "${all}"` }) };
  const ref = await play("noted", { replies: [leaking(), noted], shows: "step_done" });
  const { steps } = await host.read(ref);
  expect(steps.at(-1)?.meta).toMatchObject({ done: true, note: 'it is "*** *** *** *** ***"' });
  expect(leaks()).toEqual([]);
}, 180_000);

// Proves that `leaks` finds a secret.
test("the step of a role with the author's own code is recorded as it is", async () => {
  await play("author", { replies: [leaking(), clean], shows: "llm_tool_result" });
  expect(leaks().map((leak) => leak.includes(`It is ${key}`))).toEqual([true]);
}, 180_000);
