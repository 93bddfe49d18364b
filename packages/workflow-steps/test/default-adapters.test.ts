import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { strToU8, zipSync } from "fflate/browser";
import { anthropicServer } from "../../workflow-agents/test/anthropic-server.ts";
import type { Reply } from "../../workflow-agents/test/wire.ts";
import { defaultAdapters } from "../src/entry/adapters.ts";
import { Engine } from "../src/entry/index.ts";

let cwd: string;
const ends: (() => unknown)[] = [];
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "uncaged-steps-"));
});
afterEach(async () => {
  await Promise.all(ends.splice(0).map((end) => end()));
  rmSync(cwd, { recursive: true });
});

const archive = zipSync({ "a.txt": strToU8("from the archive"), "b/c.md": strToU8("# c") });

/** Runs steps with the default adapters, against a model with these replies and a file server. */
async function running(steps: (url: string) => object[], replies: Reply[] = []) {
  const model = await anthropicServer(replies);
  const files = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: ({ url }) => (url.endsWith(".zip") ? new Response(archive) : Response.json({ n: 41 })),
  });
  ends.push(model.stop, () => files.stop(true));
  const env = { ANTHROPIC_API_KEY: model.key, ANTHROPIC_BASE_URL: model.url };
  const url = files.url.href;
  const vars = ["$a", "$b", "$n(INT)", "$e(OBJECT)"].map((one) =>
    one.includes("(") ? one : `${one}(STRING)`,
  );
  const registry = { vars, apis: [{ id: "number", url: `${url}numbers/{id}` }] };
  const payloads: string[] = [];
  const engine = new Engine(
    { version: "3.18", name: "all", registry, steps: steps(url) as { id: string }[] },
    { env, onEvent: ({ type, stepID }) => void payloads.push(`${stepID} ${type}`) },
  );
  expect(engine.validate()).toEqual([]);
  const ran = engine.execute({}, defaultAdapters({ options: { cwd, env } }));
  const context = await ran.catch(({ ctx }: { ctx: Awaited<typeof ran> }) => ctx);
  const { status, variables } = context.snapshot();
  const of = (id: string) =>
    payloads.flatMap((one) => (one.startsWith(`${id} `) ? one.slice(id.length + 1) : [])).join(" ");
  return { status, variables, of };
}

test("steps for models, tools, endpoints, downloads and archives work together, each with its events", async () => {
  const { status, variables, of } = await running(
    (url) => [
      {
        id: "LLM_Ask",
        in: { prompt: "Say hello.", stream: true },
        out: { $a: "=_result", "/out/a.txt": "=_result" },
        next: "Tool_010_ReadFile",
      },
      {
        id: "Tool_010_ReadFile",
        input: { file_path: "out/a.txt" },
        out: { $b: "=_toolResult" },
        next: "API_number",
      },
      {
        id: "API_number",
        in: { pathParams: { id: 1 } },
        out: { $n: "=_result.n + 1" },
        next: "Download_Zip",
      },
      {
        id: "Download_Zip",
        in: { source: `${url}a.zip`, target: "/.tmp/a.zip" },
        out: { $a: "=_result.path" },
        next: "Unzip_All",
      },
      {
        id: "Unzip_All",
        in: { source: "=$a", routeByExt: { md: "docs" }, defaultDir: "text" },
        next: "Stop_End",
      },
      { id: "Stop_End" },
    ],
    [{ thinking: "hm", text: "hi" }],
  );
  expect([status, variables]).toEqual([
    "stopped",
    { $a: ".tmp/a.zip", $b: "hi", $n: 42, $e: null },
  ]);
  expect(of("LLM_Ask")).toBe(
    "step_start file_start llm_thinking llm_token llm_done var_changed file_done step_done",
  );
  expect(of("Tool_010_ReadFile")).toBe("step_start tool_start tool_done var_changed step_done");
  expect(of("API_number")).toBe("step_start var_changed step_done");
  expect(of("Unzip_All")).toBe("step_start file_start file_done file_start file_done step_done");
  expect(readFileSync(join(cwd, "out/a.txt"), "utf8")).toBe("hi");
  expect(readFileSync(join(cwd, "text/a.txt"), "utf8")).toBe("from the archive");
  expect(readFileSync(join(cwd, "docs/b/c.md"), "utf8")).toBe("# c");
});

test("a failed model call leads to its handler, in the documented order", async () => {
  const fault = { kind: "status", status: 400, type: "", message: "bad word" } as const;
  const { status, variables, of } = await running(
    () => [
      { id: "LLM_Ask", in: { prompt: "x" }, out: "$a", onError: "Set_Error", next: "Stop_End" },
      { id: "Set_Error", target: "$e", value: "=_error", next: "Stop_End" },
      { id: "Stop_End" },
    ],
    [{ fault }],
  );
  expect(of("LLM_Ask")).toBe("step_start llm_error step_error");
  expect([status, variables.$e]).toEqual([
    "stopped",
    {
      type: "bad_request",
      code: "LLM_BAD_REQUEST",
      retryable: false,
      stepID: "LLM_Ask",
      message: expect.stringContaining("bad word"),
    },
  ]);
});

test("a failed tool ends the run, unless its step allows errors", async () => {
  const steps = (more: object) => () => [
    { id: "Tool_010_ReadFile", input: { file_path: "../x" }, ...more, next: "Stop_End" },
    { id: "Stop_End" },
  ];
  const failed = await running(steps({}));
  expect([failed.status, failed.of("Tool_010_ReadFile")]).toEqual([
    "failed",
    "step_start tool_start tool_error step_error",
  ]);
  const allowed = await running(steps({ allowError: true, out: { $e: "=_result" } }));
  expect([allowed.status, allowed.of("Tool_010_ReadFile")]).toEqual([
    "stopped",
    "step_start tool_start tool_error var_changed step_done",
  ]);
  expect(allowed.variables.$e).toMatchObject({ ok: false, tool: "ReadFile" });
});
