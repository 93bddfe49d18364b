import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { openLocalHost, settled, threadJson } from "@uncaged/workflow/host";
import { anthropicServer } from "../packages/workflow-agents/test/anthropic-server.ts";
import { obliging } from "./agents-docs/obliging.ts";
import { samplesIn, typeErrorsIn } from "./samples.ts";
import { top } from "./source.ts";
import { warningsOn } from "./warned.ts";
import { some } from "../packages/workflow/test/fixtures/cases.ts";

/* Type-checks every snippet of the agents' pages. Builds and runs every workflow among them. */
const folder = mkdtempSync(join(tmpdir(), "uncaged-agents-docs-"));
const host = openLocalHost({ path: join(folder, "root") });
const sources = join(top, ".cache/agents-docs");
const pages = [
  "docs/guides/agents.md",
  "docs/reference/agents.md",
  "packages/workflow-agents/README.md",
].map((path) => readFileSync(join(top, path), "utf8"));
const snippets = samplesIn(pages.join("\n"), "ts").map((text, index) => ({
  name: `snippet-${index + 1}`,
  text,
}));
const workflows = snippets.filter(({ text }) => text.includes("export const run"));

let server: Awaited<ReturnType<typeof anthropicServer>>;
const idleBefore = process.env.UNCAGED_WORKFLOW_IDLE_MS;

beforeAll(async () => {
  process.env.UNCAGED_WORKFLOW_IDLE_MS = "100";
  mkdirSync(sources, { recursive: true });
  for (const { name, text } of snippets) writeFileSync(join(sources, `${name}.ts`), text);
  mkdirSync(join(folder, "bin"));
  const mcp = join(top, "packages/workflow-agents/test/mcp/server.ts");
  const script = `#!/bin/sh\nexec '${process.execPath}' --no-env-file '${mcp}' stdio\n`;
  writeFileSync(join(folder, "bin/docs-mcp"), script);
  chmodSync(join(folder, "bin/docs-mcp"), 0o755);
  writeFileSync(join(folder, "package.json"), '{"version":"1.2.3"}');
  const git = (...args: string[]) => Bun.spawnSync(["git", ...args], { cwd: folder });
  git("init", "-q");
  git(
    "-c",
    "user.name=Me",
    "-c",
    "user.email=me@localhost",
    "commit",
    "-qm",
    "it",
    "--allow-empty",
  );
  writeFileSync(join(folder, "shot.png"), Buffer.from("\x89PNG\r\n\x1a\n....", "latin1"));
  server = await anthropicServer(obliging);
});

afterAll(async () => {
  if (idleBefore === undefined) delete process.env.UNCAGED_WORKFLOW_IDLE_MS;
  else process.env.UNCAGED_WORKFLOW_IDLE_MS = idleBefore;
  await server.stop();
  for (const path of [folder, sources]) {
    rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
});

test("the pages have snippets", () => {
  expect(workflows.length).toBeGreaterThan(5);
});

test("the snippets have no type errors", () => {
  expect(typeErrorsIn(sources)).toBe("");
}, 180_000);

describe("each workflow of the pages", () => {
  test.each(some(workflows, 4))(
    "$name is built and runs to its end",
    async ({ name, text }) => {
      await host.register(name, join(sources, `${name}.ts`));
      const env = {
        PATH: `${join(folder, "bin")}${delimiter}${process.env.PATH}`,
        HOME: folder,
        ANTHROPIC_API_KEY: server.key,
        ANTHROPIC_BASE_URL: server.url,
      };
      const started = await host.start({
        workflow: name,
        prompt: "one two",
        cwd: folder,
        env,
      });
      const ref = { threadId: started.threadId, hash: started.hash };
      const thread = threadJson(await settled(host, ref));
      expect(thread).toMatchObject({ status: "completed", result: { returnCode: 0 } });
      expect(thread.steps.length).toBeGreaterThan(0);
      const events: (string | undefined)[] = [];
      for await (const { record } of host.log(ref)) events.push(record.type);
      expect(events).toContain(/\brole\(/.test(text) ? "step_done" : "llm_done");
      if (text.includes("toolRegistry")) expect(events).toContain("tool_done");
    },
    180_000,
  );
});

test("no step of a documented workflow violates its descriptor", async () => {
  expect(await warningsOn(host)).toEqual([]);
});
