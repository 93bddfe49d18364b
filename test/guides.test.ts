import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLocalHost } from "@uncaged/workflow/host";
import { samplesIn, typeErrorsIn } from "./samples.ts";
import { top } from "./source.ts";

/* The samples of the guides to workflows in TypeScript: type-checked, added, and the test among them run. */
const pages = [
  "writing-a-workflow",
  "retries-and-timers",
  "human-input",
  "testing",
  "cost-control",
] as const;
const sources = join(top, ".cache/guides");
const root = mkdtempSync(join(tmpdir(), "uncaged-guides-"));

const samples = pages.flatMap((page) => {
  const text = readFileSync(join(top, `docs/guides/${page}.md`), "utf8");
  return (["ts", "js"] as const).flatMap((kind) =>
    samplesIn(text, kind).map((code, index) => ({
      name: `${page}-${index + 1}.${kind === "js" ? "esm.js" : "ts"}`,
      code,
    })),
  );
});
const workflows = samples.filter(({ code }) => code.includes("export const descriptor"));

beforeAll(() => {
  rmSync(sources, { recursive: true, force: true });
  mkdirSync(sources, { recursive: true });
  for (const { name, code } of samples) writeFileSync(join(sources, name), code);
  // The workflow that the sample of a test imports.
  writeFileSync(join(sources, "workflow.ts"), workflows[0]?.code ?? "");
});

afterAll(() => {
  for (const path of [sources, root]) {
    rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
});

test("the samples have no type error", () => {
  expect(samples.length).toBeGreaterThan(8);
  expect(typeErrorsIn(sources)).toBe("");
}, 60_000);

test.each(workflows)(
  "$name can be added",
  async ({ name }) => {
    const host = openLocalHost({ path: root });
    const label = name.replace(/\..*$/, "");
    expect(await host.register(label, join(sources, name))).toMatchObject({ unchanged: false });
  },
  60_000,
);

test("the sample of a test passes", () => {
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, "test", "./testing-1.ts"], {
    cwd: sources,
  });
  expect([exitCode, stderr.toString()]).toEqual([0, expect.stringContaining("2 pass")]);
});
