import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { until } from "../../workflow/test/fixtures/until.ts";
import { StepFolder } from "../src/ipc/folder.ts";
import type { StepMessage } from "../src/ipc/message.ts";
import { withoutSecrets } from "../src/secret/secret.ts";
import { ownProgram } from "./surroundings.ts";

setDefaultTimeout(180_000);
const secrets = { A_TOKEN: "value-of-the-token" };
let path = "";
let seen: StepMessage[] = [];
let closes = 0;
beforeEach(() => {
  path = join(mkdtempSync(join(tmpdir(), "uncaged-ipc-")), "wf", "run", "step");
  seen = [];
  closes = 0;
});
afterEach(() => rmSync(join(path, "../../.."), { recursive: true, force: true }));

const open = () =>
  StepFolder.open(path, {
    answer(message) {
      seen.push(message);
      if (message.type === "subtask") throw new Error(`refused: ${secrets.A_TOKEN}`);
      return Promise.resolve(message.type === "context" ? [{ step: "a", output: "x" }] : "ok");
    },
    onClose: () => (closes += 1),
    hide: (text) => withoutSecrets(text, secrets),
  });

/** Writes a file like a step: under a temporary name, then renames it. */
function put(name: string, text: string): void {
  const aside = join(path, "output", `.${name}.tmp`);
  writeFileSync(aside, text);
  renameSync(aside, join(path, "output", name));
}

const progress = (message: string) => JSON.stringify({ type: "progress", message });
const errorsIn = () => readdirSync(join(path, "errors")).sort((a, b) => a.localeCompare(b));
const answerTo = (name: string): unknown =>
  JSON.parse(readFileSync(join(path, "input", name), "utf8"));

test("each message is read once, in the order of the names; an answer has the name of its message", async () => {
  mkdirSync(join(path, "input"), { recursive: true });
  writeFileSync(join(path, "input", "of-an-earlier-attempt.json"), "{}");
  writeFileSync(join(path, "_close"), "");
  const folder = open();
  expect(readdirSync(path).sort((a, b) => a.localeCompare(b))).toEqual([
    "errors",
    "input",
    "output",
  ]);
  for (const n of [3, 1, 2]) put(`${n}.json`, progress(`the ${n}.`));
  await until(() => readdirSync(join(path, "input")).length === 3);
  expect(seen.map((one) => ("message" in one ? one.message : ""))).toEqual([
    "the 1.",
    "the 2.",
    "the 3.",
  ]);
  expect(answerTo("1.json")).toEqual({ type: "done", value: "ok" });
  put("1.json", progress("again"));
  await until(() => errorsIn().length === 1);
  put("4.json", JSON.stringify({ type: "subtask", subtask: { description: "d" } }));
  await until(() => existsSync(join(path, "input", "4.json")));
  expect(answerTo("4.json")).toEqual({ type: "refused", error: "refused: [secret:A_TOKEN]" });
  await folder.close();
  expect(seen).toHaveLength(4);
  expect(closes).toBe(0);
  expect(readdirSync(path)).toEqual(["errors"]);
});

test("an invalid message is set aside without its secrets, and affects nothing else", async () => {
  const folder = open();
  const output = join(path, "output");
  const outside = join(path, "../outside");
  writeFileSync(outside, progress("from outside"));
  put("a.json", "{ half");
  put("b.json", JSON.stringify({ type: "unknown", message: secrets.A_TOKEN }));
  put("c.txt", progress("wrong name"));
  put("d.json", progress("x".repeat(1024 * 1024)));
  symlinkSync(outside, join(output, "e.json"));
  execFileSync("mkfifo", [join(output, "f.json")]);
  mkdirSync(join(output, "g.json/deep"), { recursive: true });
  put("h.json", "null");
  put("i.json", JSON.stringify({ type: "progress", message: 1 }));
  put("z.json", progress("right"));
  await until(() => existsSync(join(path, "input", "z.json")));
  expect(seen).toEqual([{ type: "progress", message: "right" }]);
  expect(errorsIn()).toHaveLength(9);
  const kept = errorsIn()
    .map((name) => readFileSync(join(path, "errors", name), "utf8"))
    .join("\n");
  expect(kept).toContain("[secret:A_TOKEN]");
  expect(kept).not.toContain(secrets.A_TOKEN);
  expect(readFileSync(outside, "utf8")).toContain("from outside");
  await folder.close();
});

test("ids in a message have no effect: a message belongs to its folder's step", async () => {
  const folder = open();
  const forged = { runId: "run_other", stepId: "other", workflow_id: "wf_other", by: "other" };
  put("1.json", JSON.stringify({ type: "notify", message: "hi", ...forged }));
  put(
    "2.json",
    JSON.stringify({ type: "subtask", subtask: { description: "d", agent: "x", ...forged } }),
  );
  await until(() => existsSync(join(path, "input", "2.json")));
  expect(seen).toEqual([
    { type: "notify", message: "hi" },
    { type: "subtask", subtask: { description: "d" } },
  ]);
  await folder.close();
});

test("a link in place of the output folder is not followed, and closes the step", async () => {
  const folder = open();
  const victim = join(path, "../victim");
  mkdirSync(victim);
  writeFileSync(join(victim, "precious.json"), progress("mine"));
  rmSync(join(path, "output"), { recursive: true });
  symlinkSync(victim, join(path, "output"));
  await until(() => closes > 0);
  await folder.close();
  expect(existsSync(join(victim, "precious.json"))).toBe(true);
  expect(seen).toEqual([]);
});

test("removing a folder during an answer closes only the step", async () => {
  const folder = StepFolder.open(path, {
    answer: async () => rmSync(join(path, "input"), { recursive: true }),
    onClose: () => (closes += 1),
    hide: (text) => text,
  });
  put("1.json", progress("one"));
  await until(() => closes === 1);
  await folder.close();
});

test("the file `_close` is reported exactly once", async () => {
  const folder = open();
  writeFileSync(join(path, "_close"), "");
  await until(() => closes > 0);
  await folder.close();
  expect(closes).toBe(1);
});

test("the MCP server has the four tools, and their calls reach the step's run", async () => {
  const folder = open();
  const client = new Client({ name: "test", version: "1" });
  const [command, ...args] = [...ownProgram.argv, "plan", "__mcp", "--folder", path];
  const env = { ...secrets, PATH: process.env.PATH ?? "", UNCAGED_PLAN_SECRETS: "A_TOKEN" };
  await client.connect(new StdioClientTransport({ command, args, env }));
  try {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      ...["cueclaw_report_progress", "cueclaw_notify", "cueclaw_get_context"],
      "cueclaw_create_subtask",
    ]);
    const call = (name: string, given: Record<string, unknown>) =>
      client.callTool({ name: `cueclaw_${name}`, arguments: given });
    const message = `it is ${secrets.A_TOKEN}`;
    expect(await call("report_progress", { message })).toMatchObject({ content: [{ text: "ok" }] });
    expect(await call("notify", { message, stepId: "other" })).toMatchObject({
      content: [{ text: "ok" }],
    });
    // Secrets are masked before the write.
    const masked = "it is [secret:A_TOKEN]";
    expect(seen).toEqual([
      { type: "progress", message: masked },
      { type: "notify", message: masked },
    ]);
    writeFileSync(
      join(path, "input", "0.json"),
      JSON.stringify({ type: "instruction", text: "be brief" }),
    );
    const context = await call("get_context", {});
    expect(context.content).toMatchObject([
      { text: expect.stringContaining('"step": "a"') },
      { text: "be brief" },
    ]);
    expect((await call("get_context", {})).content).toHaveLength(1);
    const refused = await call("create_subtask", { description: "more" });
    expect(refused).toMatchObject({
      isError: true,
      content: [{ text: "refused: [secret:A_TOKEN]" }],
    });
    expect(seen.at(-1)).toEqual({ type: "subtask", subtask: { description: "more" } });
    expect(await call("notify", { message: "" })).toMatchObject({ isError: true });
    expect(await call("create_subtask", { inputs: [] })).toMatchObject({ isError: true });
  } finally {
    await client.close();
    await folder.close();
  }
});
