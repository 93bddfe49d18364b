import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isWorkflowError } from "../contract/error.ts";
import { unsealed } from "../../test/fixtures/records.ts";
import { dataPath, type Root } from "../disk/paths.ts";
import { DiskStore } from "../disk/store.ts";
import { isCreated } from "../disk/threads.ts";
import type { StartRequest } from "../control/control.ts";
import { prepareThread } from "./create.ts";

const hash = "EYHPV6X8XHTCS";
const threadId = "01KQXKW1000000000000000000";
const root = mkdtempSync(join(tmpdir(), "uw-create-")) as Root;
afterAll(() => rmSync(root, { recursive: true, force: true }));

async function create(request: StartRequest) {
  const store = new DiskStore(root);
  const { thread, steps } = await prepareThread(store, hash, request);
  await store.create(thread);
  return steps;
}

test("a thread whose start record would be too long is not created", async () => {
  const prompt = "\u0001".repeat(12 * 1024 * 1024);
  const created = create({ threadId, workflow: "w", prompt, env: {} });
  const code = await created.then(
    () => "none",
    (error) => (isWorkflowError(error) ? error.code : String(error)),
  );
  expect(code).toBe("RECORD_TOO_LARGE");
  expect(isCreated(root, hash, threadId)).toBe(false);
  expect(existsSync(join(root, "logs"))).toBe(false);
});

test("a thread can start with an answer", async () => {
  const id = "01KQXKW1000000000000000001";
  const input = { content: "go on", value: [1], meta: { for: "rerun" } };
  const steps = await create({ threadId: id, workflow: "w", env: {}, input });
  expect(steps).toMatchObject([
    { role: "__input__", content: "go on", meta: { for: "rerun", value: [1] } },
  ]);
  const [, second] = readFileSync(dataPath(root, hash, id), "utf8").split("\n");
  expect(JSON.parse(unsealed(second ?? ""))).toEqual(steps[0]);
});

test("a fork reports a damaged start record of its source", async () => {
  const id = "01KQXKW1000000000000000002";
  const input = { content: "go on" };
  await create({ threadId: id, workflow: "w", prompt: "plan", env: {}, input });
  const sound = readFileSync(dataPath(root, hash, id), "utf8");
  const fork = { hash, threadId: id, keep: { first: 1 } };
  const request = { threadId: "01KQXKW1000000000000000003", workflow: "w", env: {}, fork };
  for (const damaged of [sound.replace("plan", "plam"), sound.replace("{", "[")]) {
    writeFileSync(dataPath(root, hash, id), damaged);
    const message = await create(request).then(() => "created", String);
    expect(message).toContain(`${id}.data.jsonl:1: `);
    expect(isCreated(root, hash, request.threadId)).toBe(false);
  }
});
