import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { samplesIn, typeErrorsIn } from "./samples.ts";
import { top } from "./source.ts";

/* Type-checks and adds the samples of the guides to workflows in code, and runs their test. */
const pages = [
  "guides/writing-a-workflow",
  "guides/retries-and-timers",
  "guides/human-input",
  "guides/testing",
  "guides/client",
  "guides/cost-control",
  "guides/ai-sdk",
  "guides/openai-agents",
  "coming-from/agent-builder",
];
const kinds = { ts: "ts", js: "esm.js", json: "json" } as const;
const sources = join(top, ".cache/guides");
const root = mkdtempSync(join(tmpdir(), "uncaged-guides-"));

const samples = pages.flatMap((page) => {
  const text = readFileSync(join(top, `docs/${page}.md`), "utf8");
  return (["ts", "js", "json"] as const).flatMap((kind) =>
    samplesIn(text, kind).map((code, index) => ({
      name: `${basename(page)}-${index + 1}.${kinds[kind]}`,
      code,
    })),
  );
});
const workflows = samples.filter(({ code }) =>
  /export const descriptor|"(?:steps|nodes)":/.test(code),
);

beforeAll(() => {
  rmSync(sources, { recursive: true, force: true });
  mkdirSync(sources, { recursive: true });
  for (const { name, code } of samples) writeFileSync(join(sources, name), code);
  // The sample of a test imports this workflow.
  writeFileSync(join(sources, "workflow.ts"), workflows[0]?.code ?? "");
  // A sample imports an exported program.
  const exported = "packages/workflow-agents/test/openai-agents/exports/planning.ts";
  cpSync(join(top, exported), join(sources, "support.ts"));
});

afterAll(() => {
  for (const path of [sources, root]) {
    rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
});

test("the samples have no type errors", () => {
  expect(samples.length).toBeGreaterThan(8);
  expect(typeErrorsIn(sources)).toBe("");
}, 60_000);

test.each(workflows)(
  "$name can be added",
  ({ name }) => {
    const command = join(top, "node_modules/.bin/uncaged-workflow");
    const label = name.replace(/\..*$/, "");
    const { exitCode, stderr } = Bun.spawnSync(
      [command, "add", label, join(sources, name), "--root", root],
      { env: { ...process.env, CI: "" } },
    );
    // The constructor of an agent of OpenAI's SDK reads variables of the SDK.
    const known = /^warning: .* process\.env\.OPENAI_\w+ is read at module level.*\n/gm;
    const unwarned = expect.not.stringContaining("warning");
    expect([exitCode, stderr.toString().replaceAll(known, "")]).toEqual([0, unwarned]);
  },
  60_000,
);

test("the sample test passes", () => {
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, "test", "./testing-1.ts"], {
    cwd: sources,
  });
  expect([exitCode, stderr.toString()]).toEqual([0, expect.stringContaining("2 pass")]);
});
