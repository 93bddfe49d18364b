import { afterAll, describe, expect, test } from "bun:test";
import { closeClients, handlerOf, McpClient } from "./mcp-client.ts";
import { bundleOf } from "../../workflow/test/fixtures/bundles.ts";
import { Serving, stopServing } from "./serving.ts";

afterAll(async () => {
  await closeClients();
  await stopServing();
});

const source = `export const descriptor = {
  description: "Ships a release",
  roles: {},
  input: { type: "object", properties: { channel: { type: "string" } } },
};
export async function* run({ steps, prompt, params }) {
  if (steps.length === 0) yield { role: "build", content: "built " + prompt, meta: { usage: { input_tokens: 90, output_tokens: 10 }, model: "m", cost: 0.5 } };
  if (prompt === "broken")
    throw new Error("no such channel");
  return { returnCode: 0, summary: "shipped", value: params ?? null };
}
`;
const fixed = source.replace('prompt === "broken"', 'prompt === "none"');

async function served(options = {}) {
  const serving = await Serving.start("asker", "counter", "endless");
  const client = await McpClient.connect(handlerOf(serving, options));
  return { serving, client };
}

describe("the tools", () => {
  test("start, debug, correct and retry a workflow", async () => {
    const { client } = await served();
    const files = { "ship.ts": source };
    const added = await client.ok("add_workflow", { name: "ship", file: "ship.ts", files });
    expect(added).toMatchObject({ name: "ship", unchanged: false, warnings: [] });
    const { workflows } = await client.ok("list_workflows", { name: "ship" });
    expect(workflows).toMatchObject([
      { name: "ship", description: "Ships a release", input: { type: "object" } },
    ]);
    const params = { channel: "beta" };
    const first = await client.ok("start_thread", { workflow: "ship", params, wait: 60 });
    expect(first).toMatchObject({
      ...{ status: "completed", steps: 1, params, result: { summary: "shipped", value: params } },
      ...{ spent: { tokens: 100, cost: 0.5 }, large: [], next: "steps:1" },
    });

    const broken = await client.ok("start_thread", {
      ...{ workflow: "ship", prompt: "broken", wait: 60 },
    });
    expect(broken.failure).toMatchObject({
      message: "no such channel",
      step: 2,
      at: "ship.ts:9:15",
    });
    expect(broken.failure.source).toContain('>  9 |     throw new Error("no such channel");');
    await client.ok("add_workflow", { name: "ship", file: "ship.ts", files: { "ship.ts": fixed } });
    const retried = await client.ok("retry_thread", {
      ...{ threadId: broken.threadId, on: "ship", wait: 60 },
    });
    expect(retried).toMatchObject({ status: "completed", forkedFrom: broken.threadId, steps: 1 });
    const cost = await client.ok("thread_cost", { threadId: retried.threadId });
    expect(cost).toMatchObject({ total: { cost: 0 }, saved: { cost: 0.5 }, isComplete: true });

    const forked = await client.ok("fork_thread", {
      ...{ threadId: first.threadId, atStep: 0, prompt: "v2", wait: 60 },
    });
    const { firstDifference, prompts, steps } = await client.ok("diff_threads", {
      ...{ a: first.threadId, b: forked.threadId },
    });
    expect(firstDifference).toBe(1);
    expect(prompts).toEqual({ a: "", b: "v2" });
    expect(steps).toMatchObject([
      { number: 1, a: { content: "built " }, b: { content: "built v2" } },
    ]);
    const { threads } = await client.ok("search_threads", { query: "channel", status: ["failed"] });
    expect(threads).toMatchObject([{ threadId: broken.threadId, text: "no such channel" }]);
  });

  test("list threads page by page", async () => {
    const { client } = await served();
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      ids.unshift((await client.ok("start_thread", { workflow: "counter", wait: 60 })).threadId);
    }
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await client.ok("search_threads", { limit: 2, ...(cursor && { cursor }) });
      found.push(...page.threads.map(({ threadId }: { threadId: string }) => threadId));
      cursor = page.next ?? undefined;
    } while (cursor !== undefined);
    expect(found).toEqual(ids);
  });

  test("report the problems of a workflow, and register nothing", async () => {
    const { client, serving } = await served();
    const files = { "flow.ts": 'import x from "./none.ts";\nexport const run = x;\n' };
    const checked = await client.ok("validate_workflow", { file: "flow.ts", files });
    expect(checked).toMatchObject({
      valid: false,
      problems: [expect.stringContaining("flow.ts:1:")],
    });
    expect(await client.code("add_workflow", { name: "flow", file: "flow.ts", files })).toBe(
      checked.code,
    );
    expect(
      await client.ok("validate_workflow", { file: "a.ts", files: { "a.ts": source } }),
    ).toMatchObject({
      ...{ valid: true, problems: [] },
    });
    expect((await serving.host.workflows()).map(({ name }) => name)).toEqual([
      ...["asker", "counter", "endless"],
    ]);
  });

  test("add a workflow from a file in the server's folder", async () => {
    const { client, serving } = await served();
    serving.write("flows/ship.ts", source);
    const named = { file: "flows/ship.ts" };
    const { hash } = await client.ok("validate_workflow", named);
    expect(await client.ok("add_workflow", { name: "ship", ...named })).toMatchObject({ hash });
  });

  test("pause, resume and kill a thread", async () => {
    const { client } = await served();
    const { threadId } = await client.ok("start_thread", { workflow: "endless" });
    const paused = await client.ok("control_thread", { threadId, action: "pause", wait: 60 });
    expect(paused.status).toBe("paused");
    const running = await client.ok("control_thread", { threadId, action: "resume" });
    expect(running.status).toBe("running");
    expect(await client.code("retry_thread", { threadId })).toBe("NOTHING_TO_RETRY");
    const killed = await client.ok("control_thread", { threadId, action: "kill" });
    expect(killed.status).toBe("killed");
  });

  test("start one thread for repeated calls with a threadId", async () => {
    const { client, serving } = await served();
    const args = { workflow: "counter", threadId: "01M8HDS16KEQXHP9QK6HVWA696" };
    await client.ok("start_thread", args);
    expect((await client.ok("start_thread", { ...args, wait: 60 })).status).toBe("completed");
    const { data } = await client.call("start_thread", { ...args, workflow: "endless" });
    expect(data.error).toMatchObject({
      code: "THREAD_EXISTS",
      message: `${args.threadId} is a thread of another workflow: "counter"`,
    });
    expect((await serving.ask("/api/threads", { ...args, workflow: "endless" })).status).toBe(409);
    expect((await serving.host.threads()).rows).toHaveLength(1);
  });

  test("find the documents", async () => {
    const { client } = await served();
    const { results } = await client.ok("search_docs", { query: "approval question schema" });
    expect(results.length).toBeGreaterThan(1);
    const { uri, heading } = results[0];
    expect(uri).toMatch(/^uncaged:\/\/docs\/\w+\//);
    const { contents } = await client.client.readResource({ uri });
    expect(JSON.stringify(contents)).toContain(`# ${heading}\\n`);
    expect(await client.ok("search_docs", { query: "xqzzyx" })).toEqual({ results: [] });
  });

  test("have annotations, and the role `read` lists only read-only tools", async () => {
    const { client, serving } = await served();
    const all = await client.tools();
    const reading = await McpClient.connect(handlerOf(serving, { role: "read" }));
    const named = (await reading.tools()).map(({ name }) => name);
    expect(named.sort()).toEqual([
      ...["diff_threads", "get_thread", "list_workflows", "search_docs", "search_threads"],
      "thread_cost",
    ]);
    const hinted = all
      .filter(({ annotations }) => annotations?.readOnlyHint)
      .map(({ name }) => name);
    expect(hinted.sort()).toEqual(named);
    const ending = all.filter(({ annotations }) => annotations?.destructiveHint);
    expect(ending.map(({ name }) => name)).toEqual(["control_thread"]);
    for (const tool of all) {
      expect(tool.inputSchema).toMatchObject({ type: "object", additionalProperties: false });
      expect(tool.outputSchema).toMatchObject({ type: "object", additionalProperties: false });
    }
  });
});

test("threads, workflows and documents are resources", async () => {
  const { client } = await served();
  const { threadId } = await client.ok("start_thread", { workflow: "counter", wait: 60 });
  const { resources } = await client.client.listResources();
  const uris = resources.map(({ uri }) => uri);
  expect(uris).toContain(`uncaged://threads/${threadId}`);
  expect(uris).toContain("uncaged://workflows/counter");
  expect(uris).toContain("uncaged://docs/guides/testing");
  const read = async (uri: string) => {
    const [content] = (await client.client.readResource({ uri })).contents;
    return content && "text" in content ? content.text : "";
  };
  expect(JSON.parse(await read(`uncaged://threads/${threadId}`))).toMatchObject({
    ...{ threadId, status: "completed" },
  });
  expect(JSON.parse(await read("uncaged://workflows/counter"))).toMatchObject({ name: "counter" });
  for (const uri of ["uncaged://docs/../package", "uncaged://threads/none", "uncaged://none/x"])
    expect(client.client.readResource({ uri })).rejects.toThrow();
});

test("large values are truncated, and can be read in parts", async () => {
  const { client, serving } = await served();
  const large = `"${"é\\n".repeat(10_000)}"`;
  await serving.add(
    "large",
    bundleOf(`
      for (let n = input.steps.length; n < 12; n += 1) yield step("write", ${large} + n, { text: ${large} });
      return { returnCode: 0, summary: ${large}, value: ${large} };`),
  );
  const whole = JSON.parse(large) as string;
  const state = await client.ok("start_thread", {
    workflow: "large",
    prompt: "p".repeat(50_000),
    params: { text: whole },
    wait: 60,
  });
  expect(state.large.map(({ of }: { of: string }) => of)).toEqual([
    ...["prompt", "params", "result.value", "result.summary", "step.12.content"],
  ]);
  const partsOf = async (from: string) => {
    let text = "";
    for (let cursor: string | null = from; cursor !== null; ) {
      const page = await client.ok("get_thread", { threadId: state.threadId, cursor });
      text += page.part.text;
      cursor = page.next;
    }
    return text;
  };
  expect(await partsOf("step.12.content:0")).toBe(`${whole}11`);
  expect(await partsOf("result.summary:0")).toBe(whole);
  expect(JSON.parse(await partsOf("result.value:0"))).toBe(whole);
  expect(JSON.parse(await partsOf("params:0"))).toEqual({ text: whole });
  expect(JSON.parse(await partsOf("step.1.meta:0"))).toEqual({ text: whole });
  expect(await partsOf("prompt:0")).toBe("p".repeat(50_000));
  const numbers: number[] = [];
  for (let cursor: string | null = "steps:1"; cursor !== null; ) {
    const page = await client.ok("get_thread", { threadId: state.threadId, cursor });
    numbers.push(...page.records.map(({ number }: { number: number }) => number));
    cursor = page.next;
  }
  expect(numbers).toEqual(Array.from({ length: 12 }, (_, index) => index + 1));
  for (const cursor of [
    "steps",
    "step.13.content:0",
    "prompt:50001",
    "result.none:0",
    "steps:-1",
  ]) {
    expect(await client.code("get_thread", { threadId: state.threadId, cursor })).toBe(
      "BAD_CURSOR",
    );
  }
});
