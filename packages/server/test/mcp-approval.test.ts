import { afterAll, describe, expect, test } from "bun:test";
import { needsPerson } from "../src/mcp/approval.ts";
import { bundleOf } from "../../workflow/test/fixtures/bundles.ts";
import { closeClients, handlerOf, McpClient } from "./mcp-client.ts";
import { Serving, stopServing } from "./serving.ts";

afterAll(async () => {
  await closeClients();
  await stopServing();
});

const decision = { type: "object", properties: { decision: { enum: ["approve", "reject"] } } };

/** A workflow that asks a plain question, asks for an approval, and repeats the decision in a separate step. */
const shipper = bundleOf(`
  const answers = input.steps.filter(({ role }) => role === "__input__");
  const ask = async function* (n, content, meta) {
    if (answers.length > n) return answers[n];
    return yield step("__wait__", content, meta);
  };
  const channel = yield* ask(0, "Which channel?", { for: "channel", schema: { type: "string" } });
  const { meta } = yield* ask(1, "Ship?", { for: "ship", schema: ${JSON.stringify(decision)} });
  if (input.steps.length < 5) yield step("gate", "", { value: meta.value });
  return { returnCode: 0, summary: meta.value.decision + " to " + channel.content };`);

async function served() {
  const serving = await Serving.start();
  await serving.add("ship", shipper);
  return serving;
}

async function waiting(options = {}) {
  const serving = await served();
  const client = await McpClient.connect(handlerOf(serving, options), { name: "a model" });
  const start = await client.ok("start_thread", { workflow: "ship", wait: 60 });
  expect(start.question).toMatchObject({ number: 1, for: "channel", needsPerson: false });
  const { threadId } = start;
  const asked = await client.ok("answer_thread", {
    threadId,
    answer: "beta",
    question: 1,
    wait: 60,
  });
  expect(asked.question).toMatchObject({ number: 3, for: "ship", needsPerson: true });
  const stepsNow = async () => (await serving.host.read(await serving.host.find(threadId))).steps;
  return { serving, client, threadId, stepsNow };
}

test.each([
  ["approval", { for: "approval" }],
  ["decision", { for: "x", schema: decision }],
  ["tool call", { for: "tool", schema: { properties: { approve: {} } } }],
  ["budget", { for: "budget" }],
  ["limits", { for: "limits" }],
  ["failed step of a plan", { for: "step_failure", schema: { enum: ["retry", "skip"] } }],
  ["yes or no", { for: "x", schema: { type: "boolean" } }],
  ["field of a form", { for: "x", schema: { properties: { approved: {}, address: {} } } }],
  ["yes, no or null", { for: "x", schema: { type: ["boolean", "null"] } }],
  ["yes or no in a form", { for: "x", schema: { properties: { ship: { type: "boolean" } } } }],
  ["choice of approve and reject", { for: "x", schema: { enum: ["approve", "reject"] } }],
  ["choice of yes and no", { for: "x", schema: { enum: ["Yes", "No"] } }],
  ["constants", { for: "x", schema: { oneOf: [{ const: true }, { const: false }] } }],
  ["alternative", { for: "x", schema: { anyOf: [{ type: "string" }, decision] } }],
  ["reference", { for: "x", schema: { $ref: "#/$defs/d", $defs: { d: { type: "boolean" } } } }],
  ["reason", { for: "deploy approval", schema: { type: "string" } }],
  ["no schema", { for: "ship" }],
  ["schema for every value", { for: "ship", schema: { description: "go or no go" } }],
  ["odd schema", { for: "x", schema: "yes" }],
  ["object without properties", { for: "x", schema: { type: "object" } }],
  ["array without items", { for: "x", schema: { type: "array" } }],
  ["alternative for every value", { for: "x", schema: { anyOf: [{ type: "string" }, {}] } }],
  ["reference to every value", { for: "x", schema: { $ref: "#/$defs/d", $defs: { d: {} } } }],
  ["property for every value", { for: "x", schema: { properties: { address: {} } } }],
])("a person answers: %s", (_, meta) => {
  expect(needsPerson({ role: "__wait__", meta })).toBe(true);
});

test.each([
  ["text", { for: "channel", schema: { type: "string" } }],
  ["choice", { for: "x", schema: { enum: ["beta", "stable"] } }],
  ["form", { for: "x", schema: { type: "object", properties: { address: { type: "string" } } } }],
])("a model may answer: %s", (_, meta) => {
  expect(needsPerson({ role: "__wait__", meta })).toBe(false);
});

describe("without allowApprove", () => {
  test("the answer to a plain question is recorded with the client's name; the answer to an approval is refused", async () => {
    const { client, threadId, stepsNow } = await waiting();
    expect((await stepsNow())[1]?.meta.by).toEqual({ kind: "mcp", name: "a model" });
    for (const answer of ["approve", { decision: "approve" }, { decision: "reject" }]) {
      const refused = await client.call("answer_thread", { threadId, answer, question: 3 });
      expect(refused).toMatchObject({
        isError: true,
        data: { error: { code: "APPROVAL_NOT_ALLOWED" } },
      });
      expect(refused.data.error.hint).toContain("--allow-approve");
    }
    expect(await stepsNow()).toHaveLength(3);
  });

  test("a decision is refused as the answer to a question for text", async () => {
    const serving = await served();
    const client = await McpClient.connect(handlerOf(serving));
    const start = await client.ok("start_thread", { workflow: "ship", wait: 60 });
    const { threadId } = start;
    const objects = [{ decision: "approve" }, '{"ship": "yes"}', { to: ["all", "Yes!"] }];
    for (const answer of ["yes", " No. ", "approve!", '"true"', true, ...objects]) {
      const given = { threadId, answer };
      expect(await client.code("answer_thread", given)).toBe("APPROVAL_NOT_ALLOWED");
      expect(await client.code("fork_thread", { ...given, atStep: 1 })).toBe(
        "APPROVAL_NOT_ALLOWED",
      );
    }
    await client.ok("answer_thread", { threadId, answer: "no channel", wait: 60 });
    const edit = (more: object) => client.code("fork_thread", { threadId, atStep: 2, edit: more });
    expect(await edit({ content: "yes" })).toBe("APPROVAL_NOT_ALLOWED");
    expect(await edit({ meta: { value: true } })).toBe("APPROVAL_NOT_ALLOWED");
    expect(await edit({ content: "beta" })).toStartWith("no error");
  });

  test("no hint names the command that approves", async () => {
    const { client, threadId } = await waiting();
    for (const [tool, more] of [
      ["control_thread", { action: "resume" }],
      ["retry_thread", {}],
    ] as const) {
      const { data } = await client.call(tool, { threadId, ...more });
      expect(data.error).toMatchObject({ code: "WAITING", hint: "ask the user to decide" });
    }
  });

  test("a fork can't change the role of a question", async () => {
    const { client, threadId } = await waiting();
    const edit = { meta: { for: "channel", role: "approver" } };
    const fork = { threadId, atStep: 1, edit, answer: "approve" };
    expect(await client.code("fork_thread", fork)).toBe("APPROVAL_NOT_ALLOWED");
  });

  test("a fork neither answers an approval nor changes a person's decision", async () => {
    const { serving, client, threadId } = await waiting();
    const ref = await serving.host.find(threadId);
    const fork = (more: object) => client.code("fork_thread", { threadId, ...more });
    const answer = { decision: "approve" };
    expect(await fork({ atStep: 3, answer })).toBe("APPROVAL_NOT_ALLOWED");
    expect(await fork({ anew: true, answer })).toBe("APPROVAL_NOT_ALLOWED");
    expect(await fork({ atStep: 3, edit: { content: "Lunch?" } })).toBe("APPROVAL_NOT_ALLOWED");
    const rejected = { content: "reject", by: { kind: "console" } } as const;
    await serving.host.control(ref, {
      kind: "answer",
      input: rejected,
      question: 3,
      env: serving.env,
    });
    await serving.until(threadId, "completed");
    const approved = { content: "approve", meta: { value: { decision: "approve" } } };
    expect(await fork({ atStep: 4, edit: approved })).toBe("APPROVAL_NOT_ALLOWED");
    expect(await fork({ atStep: 5, edit: approved })).toBe("APPROVAL_NOT_ALLOWED");
    const kept = await client.ok("fork_thread", { threadId, atStep: 4, wait: 60 });
    expect(kept.result.summary).toBe("reject to beta");
    const other = { atStep: 2, edit: { content: "stable", meta: { value: "stable" } } };
    expect((await client.ok("fork_thread", { threadId, ...other, wait: 60 })).question.number).toBe(
      3,
    );
  });
});

test("a fork keeps only the checked steps, even if the thread asks for an approval meanwhile", async () => {
  const serving = await served();
  const { host, env } = serving;
  const threadId = await serving.run("ship");
  await serving.until(threadId, "waiting");
  const ref = await host.find(threadId);
  const late: typeof host = {
    ...host,
    async fork(...given) {
      const input = { content: "beta", by: { kind: "console" } } as const;
      await host.control(ref, { kind: "answer", input, question: 1, env });
      await serving.until(threadId, "waiting", 3);
      return await host.fork(...given);
    },
  };
  const client = await McpClient.connect(handlerOf(serving, { host: late }));
  const fork = { threadId, fromRole: "__wait__", answer: "beta", wait: 60 };
  const forked = await client.ok("fork_thread", fork);
  expect(forked).toMatchObject({ status: "waiting", question: { number: 3, for: "ship" } });
});

describe("with allowApprove", () => {
  test("with allowApprove, an approval needs the number of its question, and is recorded", async () => {
    const { client, threadId, stepsNow } = await waiting({ allowApprove: true });
    const answer = { decision: "approve" };
    expect(await client.code("answer_thread", { threadId, answer })).toBe("QUESTION_REQUIRED");
    expect(await client.code("answer_thread", { threadId, answer, question: 1 })).toBe(
      "STALE_ANSWER",
    );
    const done = await client.ok("answer_thread", { threadId, answer, question: 3, wait: 60 });
    expect(done).toMatchObject({ status: "completed", result: { summary: "approve to beta" } });
    expect((await stepsNow())[3]).toMatchObject({ meta: { by: { kind: "mcp", name: "a model" } } });
    expect(await client.code("answer_thread", { threadId, answer, question: 3 })).toBe(
      "NOT_WAITING",
    );
  });
});
