import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hashOf } from "../packages/workflow/src/bundle/hash.ts";
import { readLog } from "../packages/workflow/src/disk/log.ts";
import { violationOfRecord } from "../packages/workflow/src/record/record.ts";
import { parseRegistry } from "../packages/workflow/src/registry/parse.ts";
import { serialiseRegistry } from "../packages/workflow/src/registry/registry.ts";
import { files, top } from "./source.ts";

/* Checks that docs/reference/storage-format.md matches the files that the code reads and writes. */
const text = readFileSync(join(top, "docs/reference/storage-format.md"), "utf8");
const blocks = (language: string): string[] =>
  [...text.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"))].map(
    (match) => match[1] ?? "",
  );
const logs = blocks("jsonl");

test("the logs in the document are valid logs of ended threads", () => {
  const folder = mkdtempSync(join(tmpdir(), "uncaged-format-"));
  for (const log of logs.filter((block) => block.includes('"parameters"'))) {
    const path = join(folder, "log");
    writeFileSync(path, log);
    expect(readLog(path)).toMatchObject({
      kind: "thread",
      torn: 0,
      broken: null,
      steps: [{ role: "splitter" }, { role: "counter" }],
      end: { meta: { reason: "returned" } },
    });
  }
  rmSync(folder, { recursive: true });
});

test("the records in the document are valid", () => {
  const records = logs.flatMap((block) => block.trim().split("\n")).map((line) => JSON.parse(line));
  const steps = records.filter((record) => "role" in record);
  expect(steps.length).toBeGreaterThan(10);
  expect(steps.map(violationOfRecord).filter((fault) => fault !== null)).toEqual([]);
});

test("the hashes in the document match their bytes", async () => {
  const rows = [...text.matchAll(/^\| (none|`\w+`) \| [0-9a-f]{16} \| (\w{13}) \|$/gm)];
  expect(rows).toHaveLength(3);
  for (const [, bytes = "", hash] of rows) {
    const shown = bytes === "none" ? "" : bytes.replaceAll("`", "");
    expect(hashOf(new TextEncoder().encode(shown))).toBe(hash as string);
  }
});

test("the registry in the document equals the file that the code writes", async () => {
  const [registry = ""] = blocks("yaml");
  const parsed = parseRegistry(registry);
  expect(serialiseRegistry(parsed.registry)).toBe(registry);
});

test("the document explains every tag of the debug log", () => {
  const sources = files("packages/workflow/src/**/*.ts").filter(
    (path) => !path.endsWith(".test.ts"),
  );
  const used = sources.flatMap((path) =>
    [...readFileSync(join(top, path), "utf8").matchAll(/"([0-9A-HJKMNP-TV-Z]{8})"/g)].map(
      (match) => match[1] ?? "",
    ),
  );
  const explained = [...text.matchAll(/^\| ([0-9A-Z]{8}) \|/gm)].map((match) => match[1] ?? "");
  expect([...new Set(used)].sort()).toEqual(explained.sort());
});
