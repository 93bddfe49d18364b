import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LogOptions } from "../../host/host.ts";
import { infoPath, type Root, threadsDir } from "../../disk/paths.ts";
import { readLines } from "./events.ts";

const hash = "EYHPV6X8XHTCS";
const threadId = "01KQXKW1000000000000000000";
const root = mkdtempSync(join(tmpdir(), "uw-info-")) as Root;
afterAll(() => rmSync(root, { recursive: true, force: true }));

const lines = [
  { tag: "E9K2TNWD", content: "begins", timestamp: 1 },
  { tag: "QK4DX8TM", content: "llm_token", timestamp: 2, type: "llm_token", payload: {} },
  { tag: "V1BZ6SHC", content: 'it says "llm_done"', timestamp: 3 },
  { tag: "QK4DX8TM", content: "llm_done", timestamp: 4, type: "llm_done", payload: {} },
].map((line) => JSON.stringify(line));
mkdirSync(threadsDir(root, hash), { recursive: true, mode: 0o700 });
writeFileSync(infoPath(root, hash, threadId), `${lines.join("\nno JSON\n")}\n`, { mode: 0o600 });

async function contents(options?: LogOptions): Promise<string[]> {
  const found = await Array.fromAsync(readLines(root, { hash, threadId }, options));
  return found.map(({ record }) => record.content);
}

test("a debug log is read line by line, skipping lines that are not JSON", async () => {
  expect(await contents()).toHaveLength(4);
  expect(await contents({ since: 3, tail: 1 })).toEqual(["llm_done"]);
});

test("only lines with the requested tags and events of the requested types are returned", async () => {
  expect(await contents({ only: ["E9K2TNWD", "llm_done"] })).toEqual(["begins", "llm_done"]);
  expect(await contents({ only: ["llm_done"], since: 5 })).toEqual([]);
  expect(await contents({ only: [] })).toEqual([]);
});

test("backward reading returns events newest first and skips other lines", async () => {
  expect(await contents({ backward: true })).toEqual([]);
  const path = infoPath(root, hash, "01KQXKW1000000000000000001");
  const event = (seq: number) =>
    JSON.stringify({ tag: "QK4DX8TM", content: "x", timestamp: seq, type: "step_print", seq });
  writeFileSync(path, [event(1), lines[0], "no JSON", event(2), "", event(3), ""].join("\n"));
  const ref = { hash, threadId: "01KQXKW1000000000000000001" };
  const found = await Array.fromAsync(readLines(root, ref, { backward: true }));
  expect(found.map(({ record }) => record.seq)).toEqual([3, 2, 1]);
});
