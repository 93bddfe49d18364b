import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ulid } from "ulid";
import type { Failure } from "../src/control/control.ts";
import { infoPath, runDir, socketName, threadsDir } from "../src/disk/paths.ts";
import type { ThreadRef } from "../src/record/thread.ts";
import { asker } from "./fixtures/bundles.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";
import { until } from "./fixtures/until.ts";

let store: TestStore;
let ref: ThreadRef & { threadId: string };
beforeAll(async () => {
  store = new TestStore();
  ref = await store.start(await store.add(asker), "", {
    options: { wait: { expiresAt: Date.now() + 3_600_000 } },
  });
  await store.whenStatus(ref, "waiting");
  // The worker creates the debug log shortly after the start.
  await until(() => existsSync(infoPath(store.root, ref.hash, ref.threadId)));
});
afterAll(removeStores);

async function send(method: string, path: string, body: unknown) {
  const unix = join(runDir(store.root), socketName(ref.hash));
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const response = await fetch(`http://worker${path}`, { unix, method, body: text });
  return { status: response.status, value: (await response.json()) as Partial<Failure> };
}

async function expectRefusal(method: string, path: string, body: unknown): Promise<string> {
  const logs = () => readdirSync(threadsDir(store.root, ref.hash)).sort();
  const before = [logs(), store.lines(ref)];
  const { status, value } = await send(method, path, body);
  expect([value.error?.code, status]).toEqual(["BAD_REQUEST", 400]);
  expect([logs(), store.lines(ref)]).toEqual(before);
  return value.error?.message ?? "";
}

describe("an invalid start is refused and does not create a log", () => {
  const threadId = ulid();
  const sound = { threadId, workflow: "asker", env: {} };
  const other = { hash: "EYHPV6X8XHTCS", threadId: ulid() };
  const malformed: Record<string, unknown> = {
    "invalid JSON": "{",
    "an empty body": "",
    "a body that is not an object": [],
    "a thread id that is not a text": { ...sound, threadId: 5 },
    "a path as thread id": { ...sound, threadId: "../../x" },
    "a missing workflow": { threadId, env: {} },
    "a workflow that is not a text": { ...sound, workflow: { name: "x" } },
    "a missing environment": { threadId, workflow: "asker" },
    "an environment of numbers": { ...sound, env: { A: 1 } },
    "an unknown durability": { ...sound, durability: "none" },
    "a prompt that is not a text": { ...sound, prompt: 7 },
    "a fractional maxRounds": { ...sound, maxRounds: 0.5 },
    "a maxRounds of 0": { ...sound, maxRounds: 0 },
    "options that are a list": { ...sound, options: [] },
    "an option that is reserved for the engine": { ...sound, options: { maxRounds: "many" } },
    "a folder that is not a text": { ...sound, options: { cwd: 1 } },
    "an answer without content": { ...sound, input: {} },
    "an answer whose meta is a list": { ...sound, input: { content: "", meta: [] } },
    "a fork without a source": { ...sound, fork: {} },
    "a fork of a path instead of a hash": { ...sound, fork: { ...other, hash: "../..", keep: [] } },
    "a fork whose kept steps are not a list": { ...sound, fork: { ...other, keep: "all" } },
    "a fork that keeps steps backwards": { ...sound, fork: { ...other, keep: [1, 0] } },
    "a fork that keeps a step twice": { ...sound, fork: { ...other, keep: [0, 0] } },
    "a fork that keeps a negative number of steps": {
      ...sound,
      fork: { ...other, keep: { first: -1 } },
    },
    "an edit that is not a text": { ...sound, fork: { ...other, keep: [0], edit: { content: 1 } } },
    "an edit whose meta is null": { ...sound, fork: { ...other, keep: [0], edit: { meta: null } } },
  };
  for (const [what, body] of Object.entries(malformed)) {
    test(what, async () => void (await expectRefusal("POST", "/threads", body)));
  }

  test("with a reason that names the field", async () => {
    const body = { ...sound, input: { content: 1 } };
    expect(await expectRefusal("POST", "/threads", body)).toBe(
      "input.content: Invalid input: expected string, received number",
    );
  });
});

test("other invalid requests change nothing", async () => {
  const path = `/threads/${ref.threadId}`;
  await expectRefusal("POST", `${path}/resume`, { env: null });
  await expectRefusal("POST", `${path}/input`, { env: {} });
  await expectRefusal("POST", `${path}/input`, { env: {}, input: { content: null } });
  await expectRefusal("DELETE", path, {});
});

test("a valid start after invalid requests is accepted", async () => {
  const body = { threadId: ulid(), workflow: "asker", env: {}, options: { more: [1] } };
  expect((await send("POST", "/threads", body)).status).toBe(200);
});
