import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { removeFolders, Store } from "./program.ts";

afterAll(removeFolders);

const bundle = `import { channel } from "node:diagnostics_channel";
export const descriptor = { description: "Reads", roles: {} };
export async function* run() {
  const payload = { name: "read", input: "a.txt", output: { text: "x".repeat(30_000) } };
  channel("uncaged.workflow").publish({ type: "tool_done", stepID: "reader", payload });
  yield { role: "reader", content: "read", meta: {} };
  return { returnCode: 0, summary: "read" };
}
`;

let store: Store;
let id: string;

beforeAll(async () => {
  store = new Store({ inMemory: true });
  const path = join(store.folder, "read.esm.js");
  writeFileSync(path, bundle);
  await store.ok(["add", "read", path]);
  id = (await store.ok(["run", "read", "--wait", "--quiet"])).trim();
});

test("a value too long for its event is printed in full", async () => {
  const log = await store.ok(["logs", id]);
  const [, at = ""] = /"at":(\d+)/.exec(log) ?? [];
  const value = { text: "x".repeat(30_000) };
  expect(await store.json<unknown>(["thread", id, "--value", at])).toEqual(value);
  const printed = await store.ok(["thread", id, "--value", at]);
  expect(printed.trimEnd()).toBe(JSON.stringify(value, null, 2));
});

test("a position without a value is missing, and an impossible position is wrong usage", async () => {
  const missing = await store.run(["thread", id, "--value", "7"]);
  expect(missing.code).toBe(4);
  expect(missing.stderr).toContain("no value found at");
  for (const at of ["x", "-1", "1e3"]) {
    expect((await store.run(["thread", id, `--value=${at}`])).code).toBe(2);
  }
  expect((await store.run(["thread", id, "--value", "0", "--steps"])).code).toBe(2);
});
