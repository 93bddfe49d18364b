import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { openLocalHost, settled, threadJson } from "@uncaged/workflow/host";
import { checkedGraph } from "@uncaged/workflow-graph/source";
import { command } from "../packages/cli-workflow/test/command.ts";
import { openaiServer } from "../packages/workflow-agents/test/openai-server.ts";
import { samplesIn, typeErrorsIn } from "./samples.ts";
import { top } from "./source.ts";
import { warningsOn } from "./warned.ts";
import { some } from "../packages/workflow/test/fixtures/cases.ts";

/* Follows the guides to agent graphs: adds and runs the graph with the commands, and builds and runs the programs. */
const folder = mkdtempSync(join(tmpdir(), "uncaged-graph-docs-"));
const root = join(folder, "root");
const host = openLocalHost({ path: root });
const sources = join(top, ".cache/graph-docs");
const pages = ["docs/guides/graphs.md", "packages/workflow-graph/README.md"].map((path) => {
  const text = readFileSync(join(top, path), "utf8");
  const [graph = ""] = samplesIn(text, "json");
  const commands = [...text.matchAll(/^(uncaged-workflow (?:add|run|resume) .*)$/gm)];
  return {
    path,
    graph,
    programs: samplesIn(text, "ts"),
    commands: commands.map(([, line = ""]) => line),
  };
});
const programs = pages
  .flatMap(({ programs: texts }) => texts)
  .map((text, n) => ({ name: `program-${n + 1}`, text }));

let server: Awaited<ReturnType<typeof openaiServer>>;
let env: Record<string, string> = {};
beforeAll(async () => {
  mkdirSync(sources, { recursive: true });
  mkdirSync(join(folder, "bin"));
  writeFileSync(join(sources, "graph.json"), pages[0]?.graph ?? "");
  for (const { name, text } of programs) writeFileSync(join(sources, `${name}.ts`), text);
  const mcp = join(top, "packages/workflow-agents/test/mcp/server.ts");
  const script = `#!/bin/sh\nexec '${process.execPath}' --no-env-file '${mcp}' stdio\n`;
  writeFileSync(join(folder, "bin/docs-mcp"), script);
  chmodSync(join(folder, "bin/docs-mcp"), 0o755);
  server = await openaiServer(({ messages }) => {
    const isShort = JSON.stringify(messages).includes("shorter");
    return { text: isShort ? "Salt." : "Rivers carry salt into the sea." };
  });
  env = {
    PATH: `${join(folder, "bin")}${delimiter}${join(command, "..")}${delimiter}${process.env.PATH}`,
    HOME: folder,
    UNCAGED_WORKFLOW_IDLE_MS: "500",
    UNCAGED_WORKFLOW_STORAGE_ROOT: root,
    OPENAI_API_KEY: server.key,
    OPENAI_BASE_URL: server.url,
  };
});
afterAll(async () => {
  await server.stop();
  for (const path of [folder, sources]) {
    rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
});

describe.each(some(pages))("the graph of $path", ({ commands, graph }) => {
  test("is valid", () => {
    expect(checkedGraph(graph, "graph.json").warnings).toEqual([]);
  });

  test("can be added, run, sent back and approved with the commands", async () => {
    writeFileSync(join(folder, "graph.json"), graph);
    expect(commands.length).toBeGreaterThan(3);
    // The command of a waiting thread exits with 6.
    const lines = commands.map((line) => `${line} || test $? -eq 6`);
    const script = ["set -eu", ...lines].join("\n");
    const stdio = { stdin: "ignore", stdout: "pipe", stderr: "pipe" } as const;
    const shell = Bun.spawn(["bash", "-c", script], { cwd: folder, env, ...stdio });
    const [code, stdout, stderr] = await Promise.all([
      shell.exited,
      shell.stdout.text(),
      shell.stderr.text(),
    ]);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stdout).toContain("Is it good?");
    const { result, status, steps } = threadJson(await host.read(await host.find("@last")));
    expect({ status, summary: result?.summary }).toEqual({ status: "completed", summary: "Salt." });
    expect(steps.filter(({ role }) => role === "writer").map(({ content }) => content)).toEqual([
      ...["Rivers carry salt into the sea.", "Salt."],
    ]);
  }, 180_000);
});

describe("the programs of the guides", () => {
  test("have no type errors", () => {
    expect(programs.length).toBeGreaterThan(1);
    expect(typeErrorsIn(sources)).toBe("");
  }, 180_000);

  test.each(some(programs))(
    "are built and run: $name",
    async ({ name }) => {
      await host.register(name, join(sources, `${name}.ts`));
      const { hash, threadId } = await host.start({ workflow: name, cwd: folder, env });
      const ref = { hash, threadId };
      expect(threadJson(await settled(host, ref)).status).toBe("waiting");
      await host.control(ref, { kind: "answer", env, input: { content: "yes" } });
      expect(threadJson(await settled(host, ref)).status).toBe("completed");
    },
    180_000,
  );

  test("violate no descriptor", async () => {
    expect(await warningsOn(host)).toEqual([]);
  });
});
