import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isWorkflowError } from "../contract/error.ts";
import { durableWriting } from "../disk/writing.ts";
import { unsealed } from "../../test/fixtures/records.ts";
import { dataPath, type Root } from "../disk/paths.ts";
import { createLog, isCreated } from "./create.ts";

const hash = "EYHPV6X8XHTCS";
const threadId = "01KQXKW1000000000000000000";
const root = mkdtempSync(join(tmpdir(), "uw-create-")) as Root;
afterAll(() => rmSync(root, { recursive: true, force: true }));

test("a thread whose start record would be too long is not created", () => {
  const prompt = "\u0001".repeat(12 * 1024 * 1024);
  let code = "none";
  try {
    createLog(root, hash, { threadId, workflow: "w", prompt, env: {} }, durableWriting());
  } catch (error) {
    code = isWorkflowError(error) ? error.code : String(error);
  }
  expect(code).toBe("RECORD_TOO_LARGE");
  expect(isCreated(root, hash, threadId)).toBe(false);
  expect(existsSync(join(root, "logs"))).toBe(false);
});

test("a thread may begin with an answer", async () => {
  const id = "01KQXKW1000000000000000001";
  const input = { content: "go on", value: [1], meta: { for: "rerun" } };
  const request = { threadId: id, workflow: "w", env: {}, input };
  const { steps, writer } = createLog(root, hash, request, durableWriting());
  await writer.close();
  expect(steps).toMatchObject([
    { role: "__input__", content: "go on", meta: { for: "rerun", value: [1] } },
  ]);
  const [, second] = readFileSync(dataPath(root, hash, id), "utf8").split("\n");
  expect(JSON.parse(unsealed(second ?? ""))).toEqual(steps[0]);
});

test("a fork names the damage to its source's start record", async () => {
  const id = "01KQXKW1000000000000000002";
  const input = { content: "go on" };
  const source = { threadId: id, workflow: "w", prompt: "plan", env: {}, input };
  await createLog(root, hash, source, durableWriting()).writer.close();
  const sound = readFileSync(dataPath(root, hash, id), "utf8");
  const fork = { hash, threadId: id, keep: { first: 1 } };
  const request = { threadId: "01KQXKW1000000000000000003", workflow: "w", env: {}, fork };
  for (const damaged of [sound.replace("plan", "plam"), sound.replace("{", "[")]) {
    writeFileSync(dataPath(root, hash, id), damaged);
    expect(() => createLog(root, hash, request, durableWriting())).toThrow(`${id}.data.jsonl:1: `);
    expect(isCreated(root, hash, request.threadId)).toBe(false);
  }
});
