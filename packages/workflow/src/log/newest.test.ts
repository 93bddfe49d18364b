import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newestEvents } from "./newest.ts";

const folder = mkdtempSync(join(tmpdir(), "uw-newest-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const event = (seq: number, content = "x") =>
  JSON.stringify({ tag: "QK4DX8TM", content, timestamp: seq, type: "step_print", seq });

function seqs(...lines: string[]): number[] {
  const path = join(folder, "thread.info.jsonl");
  writeFileSync(path, lines.map((line) => `${line}\n`).join(""), { mode: 0o600 });
  return Array.from(newestEvents(path), ({ seq }) => seq);
}

test("events are given newest first, and other lines passed over", () => {
  const line = '{"tag":"E9K2TNWD","content":"begins","timestamp":1}';
  expect(seqs(event(1), line, "no JSON", event(2), "", event(3), line)).toEqual([3, 2, 1]);
});

test("an event is whole however the file is cut into pieces", () => {
  const lengths = [10, 65_400, 65_536, 200_000, 3, 70_000];
  const lines = lengths.map((length, index) => event(index + 1, "ü".repeat(length)));
  expect(seqs(...lines)).toEqual([6, 5, 4, 3, 2, 1]);
});

test("a file that is not there, or has none, gives none", () => {
  expect([...newestEvents(join(folder, "none"))]).toEqual([]);
  expect(seqs()).toEqual([]);
});
