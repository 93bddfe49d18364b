import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { anthropicServer } from "../../workflow-agents/test/anthropic-server.ts";
import type { Fault, Reply, ReplyTool } from "../../workflow-agents/test/wire.ts";
import {
  generatePlan,
  modifyPlan,
  Planner,
  type PlannerOptions,
  type PlannerSession,
  type Workflow,
} from "../src/entry/index.ts";
import { plan, step } from "./parts.ts";

/* The planner against a server of the provider's protocol. */
const servers: Awaited<ReturnType<typeof anthropicServer>>[] = [];
const folders: string[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

type Request = {
  messages: { role: string; content: Record<string, unknown>[] }[];
  system: unknown;
};

/** Returns a planner with a scripted model, and the messages to the model. */
async function planning(
  script: Parameters<typeof anthropicServer>[0],
  more: Partial<PlannerOptions> = {},
) {
  const server = await anthropicServer(script);
  servers.push(server);
  const env = { ANTHROPIC_API_KEY: server.key, ANTHROPIC_BASE_URL: server.url };
  const stored: Record<string, string> = {};
  const secrets = {
    all: () => stored,
    set(key: string, value: string) {
      if (!/^[A-Z_]+$/.test(key)) throw new Error(`${key} is not a name of a variable`);
      stored[key] = value;
    },
  };
  const options: PlannerOptions = { env, secrets, ...more };
  const requests = (): Request[] => server.came.map(({ body }) => body as unknown as Request);
  return { planner: new Planner(options), options, requests, stored, server };
}

const calls = (...tools: ReplyTool[]): Reply => ({ tools });
const ask = (question: string): ReplyTool => ({ name: "ask_question", input: { question } });
const secret = (key: string, value: string): ReplyTool => ({
  name: "set_secret",
  input: { key, value },
});
const create = (input: object): ReplyTool => ({ name: "create_workflow", input });
const sound = plan([step("a"), step("b", ["a"])]);
const broken = plan([step("a_b"), step("c", ["nothing"])]);

/** Returns the tool calls of a conversation without a result in the next message. */
function unanswered(messages: readonly { role: string; content: unknown }[]): string[] {
  const blocks = (at: number, type: string) =>
    ([messages[at]?.content ?? []].flat() as Record<string, string>[]).filter(
      (one) => one.type === type,
    );
  return messages.flatMap((_, at) => {
    const results = blocks(at + 1, "tool_result").map((one) => one.tool_use_id);
    return blocks(at, "tool_use").flatMap(({ id }) => (results.includes(id) ? [] : [id ?? ""]));
  });
}

const last = (request: Request | undefined): string => JSON.stringify(request?.messages.at(-1));

describe("the planner", () => {
  test("asks, gets the answer and makes a plan, to which the framework adds the other fields", async () => {
    const given = {
      ...sound,
      phase: "active",
      id: "wf_mine",
      steps: [{ ...step("a"), position: 1 }],
    };
    const { planner, requests } = await planning([calls(ask("Which one?")), calls(create(given))], {
      context: { channel: "telegram", chatJid: "42", sender: "7" },
      metadata: { cwd: "/src" },
      now: () => 0,
    });
    const { session, turn } = await planner.start("watch it");
    expect(turn).toEqual({ type: "question", content: "Which one?" });
    expect(session).toMatchObject({ status: "conversing", workflow: null });
    const { content, type, workflow } = await planner.answer(session, "the second");
    expect({ type, content }).toEqual({
      type: "plan",
      content: expect.stringContaining("1. a: do a"),
    });
    expect(session).toMatchObject({ status: "plan_ready", workflow });
    expect(workflow).toEqual({
      ...sound,
      schema_version: "1.0",
      id: expect.stringMatching(/^wf_[\w-]{21}$/),
      steps: [{ ...step("a"), position: { x: 0, y: 0 } }],
      phase: "awaiting_confirmation",
      created_at: "1970-01-01T00:00:00.000Z",
      updated_at: "1970-01-01T00:00:00.000Z",
      metadata: { owner: { channel: "telegram", chatJid: "42", sender: "7" }, cwd: "/src" },
    });
    expect(last(requests()[1])).toContain("the second");
    expect(JSON.stringify(requests()[0]?.system)).toContain("chat 42, as 7");
    expect(requests().flatMap(({ messages }) => unanswered(messages))).toEqual([]);
  });

  test("stores every secret of a turn, asks a question first, and answers each tool call", async () => {
    const { planner, requests, stored } = await planning([
      calls(
        secret("ONE_TOKEN", "one-value"),
        create(sound),
        ask("Where?"),
        ask("When?"),
        secret("TWO", "two-value"),
      ),
      calls(create(sound)),
    ]);
    const { session, turn } = await planner.start("here are one-value and two-value");
    expect(turn).toEqual({ type: "question", content: "Where?" });
    expect(stored).toEqual({ ONE_TOKEN: "one-value", TWO: "two-value" });
    expect(session.workflow).toBeNull();
    expect((await planner.answer(session, "here")).type).toBe("plan");
    const [first, second] = requests();
    expect(last(first)).toContain("one-value");
    expect(JSON.stringify(second)).not.toMatch(/one-value|two-value/);
    expect(JSON.stringify(second?.system)).toContain("ONE_TOKEN, TWO");
    expect(unanswered(second?.messages ?? [])).toEqual([]);
    const results = second?.messages.at(-1)?.content.map(({ content, text }) => content ?? text);
    expect(results).toEqual([
      "stored as ONE_TOKEN",
      "not done: a question is open",
      "The user was asked; the answer follows.",
      "not done: one question at a time",
      "stored as TWO",
      "here",
    ]);
  });

  test("continues automatically after a secret, at most ten times", async () => {
    const one = await planning([calls(secret("KEY", "value-1")), calls(create(sound))]);
    expect((await one.planner.start("KEY is value-1")).turn.type).toBe("plan");
    const { planner, requests } = await planning((_, nth) =>
      nth < 11 ? calls(secret("KEY", `value-${nth}`)) : calls(create(sound)),
    );
    const { session, turn } = await planner.start("go");
    expect(turn).toMatchObject({
      type: "error",
      content: expect.stringContaining("10 automatic turns"),
    });
    expect(requests()).toHaveLength(11);
    expect((await planner.answer(session, "well?")).type).toBe("plan");
  });

  test("sends the model all errors of an invalid plan for correction", async () => {
    const { planner, requests } = await planning([calls(create(broken)), calls(create(sound))]);
    expect((await planner.start("go")).turn.type).toBe("plan");
    const [result] = requests()[1]?.messages.at(-1)?.content ?? [];
    expect(result).toMatchObject({ type: "tool_result", is_error: true });
    expect(result?.content).toContain('step "a_b": id: must be kebab-case');
    expect(result?.content).toContain('no step "nothing" found');
  });

  test("gives up after three invalid plans, and can be used again", async () => {
    const { options, planner, requests } = await planning((_, nth) =>
      calls(create(nth < 3 ? broken : sound)),
    );
    const { session, turn } = await planner.start("go");
    expect(turn).toMatchObject({ type: "error", content: expect.stringContaining("kebab-case") });
    expect(requests()).toHaveLength(3);
    expect(session).toMatchObject({ status: "conversing", workflow: null });
    expect((await planner.answer(session, "again")).type).toBe("plan");
    const never = await planning([calls(create(broken))]);
    await expectError(generatePlan("go", never.options), "the model made no valid plan");
    expect(await generatePlan("go", options)).toMatchObject({ phase: "awaiting_confirmation" });
  });

  test("recognizes every form of invalid answer", async () => {
    const text = await planning([{ text: "I can do that." }]);
    const tokens: string[] = [];
    const onToken = (token: string) => tokens.push(token);
    const { turn } = await text.planner.start("go", { onToken });
    expect(turn).toEqual({ type: "text", content: "I can do that." });
    expect(tokens.join("")).toBe("I can do that.");
    const bad = [
      { name: "create_workflow", json: '"a text"' },
      { name: "create_workflow", json: '{"name": "cut o' },
      { name: "launch", input: {} },
      { name: "ask_question", input: { question: " " } },
      { name: "set_secret", input: { key: "a b", value: "x" } },
      { name: "set_secret", input: { key: "KEY" } },
      { name: "create_workflow", input: { name: "n".repeat(1_000_000) } },
    ];
    for (const one of bad) {
      const { planner, requests } = await planning([calls(one), calls(create(sound))]);
      expect((await planner.start("go")).turn.type).toBe("plan");
      const [result] = requests()[1]?.messages.at(-1)?.content ?? [];
      expect(result).toMatchObject({ type: "tool_result", is_error: true });
      expect(String(result?.content).length).toBeLessThan(20_001);
    }
    const nothing = await planning([{}]);
    const { session, turn: empty } = await nothing.planner.start("go");
    expect(empty).toEqual({ type: "error", content: "the model gave no answer" });
    expect((await nothing.planner.answer(session, "well?")).type).toBe("error");
  });

  test("reports an unreachable model as a PlannerError at once, and can be used again", async () => {
    const fault = { kind: "status", status: 400, type: "", message: "no such thing" } as const;
    const { planner, requests } = await planning([{ fault }, calls(create(sound))]);
    await expectError(planner.start("go"), "no such thing");
    expect(requests()).toHaveLength(1);
    expect((await planner.start("go")).turn.type).toBe("plan");
    const { options } = await planning([]);
    await expectError(generatePlan("go", { ...options, env: {} }), "no key for");
  });

  test("refuses a truncated answer, an answer without a message, and an error instead of an answer, and can be used again", async () => {
    const error = { type: "invalid_request_error", message: "no more of it" };
    const body = JSON.stringify({ type: "error", error });
    const faults: Fault[] = [
      { kind: "error-event", after: 3, ...error },
      { kind: "page", status: 200, body },
      { kind: "page", status: 400, body },
    ];
    for (const fault of faults) {
      const { planner } = await planning([
        { ...calls(create(sound)), fault },
        calls(create(sound)),
      ]);
      await expectError(
        planner.start("go"),
        fault.kind === "page" && fault.status === 200 ? "" : "no more of it",
      );
      expect((await planner.start("go")).turn.type).toBe("plan");
    }
    const cut = {
      ...calls({ name: "create_workflow", json: '{"name": "cut o' }),
      stop: "max_tokens",
    };
    const { planner, requests } = await planning([cut, calls(create(sound))]);
    expect((await planner.start("go")).turn.type).toBe("plan");
    expect(requests().flatMap(({ messages }) => unanswered(messages))).toEqual([]);
    const whole = { ...calls(create(sound)), stop: "max_tokens" };
    const other = await planning([whole, calls(create(sound))]);
    expect((await other.planner.start("go")).turn.type).toBe("plan");
  });
});

async function expectError(work: Promise<unknown>, message: string): Promise<void> {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({ name: "PlannerError", code: "PLANNER_ERROR" });
  expect((error as Error).message).toContain(message);
}

describe("a modification", () => {
  const other = plan([step("a"), step("more", ["a"])], {}, { name: "Other", description: "x" });

  test("continues in the session, and keeps id, creation and description", async () => {
    let at = 0;
    const { planner, requests } = await planning([calls(create(sound)), calls(create(other))], {
      now: () => (at += 1000),
    });
    const { session, turn } = await planner.start("go");
    const before = turn.workflow as Workflow;
    const { workflow } = await planner.answer(session, "call it other");
    expect(workflow).toMatchObject({ name: "Other", phase: "awaiting_confirmation" });
    const { created_at, description, id, metadata } = before;
    expect(workflow).toMatchObject({ created_at, description, id, metadata });
    expect(workflow?.updated_at).not.toBe(before.updated_at);
    expect(workflow?.steps[0]).toEqual(before.steps[0] as never);
    expect(last(requests()[1])).toContain("word for word");
    expect(unanswered(requests()[1]?.messages ?? [])).toEqual([]);
  });

  test("that fails keeps the plan, keeps the phase of a confirmed plan, and is refused for a running plan", async () => {
    const { options, planner } = await planning((_, nth) =>
      calls(create(nth === 0 ? sound : broken)),
    );
    const { session } = await planner.start("go");
    const before = session.workflow as Workflow;
    expect((await planner.answer(session, "change it")).type).toBe("error");
    expect(session).toMatchObject({ status: "conversing", workflow: before });
    await expectError(modifyPlan({ ...before, phase: "executing" }, "x", options), "is executing");
    await expectError(modifyPlan({ ...before, phase: "paused" }, "x", options), "is paused");
    const active = await planning([calls(create(other))]);
    const changed = await modifyPlan({ ...before, phase: "active" }, "x", active.options);
    expect(changed).toMatchObject({ phase: "active", id: before.id, name: "Other" });
  });
});

describe("a session", () => {
  const folderOf = (): string => {
    const folder = mkdtempSync(join(tmpdir(), "uw-planner-"));
    folders.push(folder);
    return join(folder, "planner");
  };

  test("is kept after each turn without any secret, and continues after a restart", async () => {
    const folder = folderOf();
    const value = 'a "secret"\nof two lines';
    const first = await planning([calls(secret("KEY", value), ask("When?"))], { folder });
    const { session } = await first.planner.start(`use ${value}`);
    const [name = ""] = readdirSync(folder);
    expect(name).toBe(`${session.id}.json`);
    expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    const text = readFileSync(join(folder, name), "utf8");
    expect(text).not.toMatch(/of two lines/);
    expect(text).toContain("[secret:KEY]");
    const second = await planning([calls(create(sound))], { folder });
    const found = second.planner.find(session.id);
    expect((await second.planner.answer(found, "now")).type).toBe("plan");
    expect(second.requests()[0]?.messages).toHaveLength(3);
    expect(second.planner.find(session.id)).toEqual(found);
    expect(readdirSync(folder)).toHaveLength(1);
  });

  test("that is missing, or whose id is a path, is refused with a PlannerError", async () => {
    const { planner } = await planning([], { folder: folderOf() });
    for (const id of ["ps_nothing", "../secrets", "ps_../../x"])
      expect(() => planner.find(id)).toThrow(/planner session/);
  });

  test("that is cancelled drops a plan that still arrives, and accepts no further input", async () => {
    const { planner, server } = await planning([{ text: "slow ".repeat(400), tokenMs: 20 }]);
    const begun = Promise.withResolvers<void>();
    const session: PlannerSession = {
      id: "ps_1",
      messages: [],
      status: "conversing",
      workflow: null,
    };
    const running = planner.answer(session, "go", { onToken: () => begun.resolve() });
    await begun.promise;
    await expectError(planner.answer(session, "twice"), "the planner is already working on");
    planner.cancel(session);
    expect(await running).toEqual({ type: "error", content: "cancelled" });
    await server.came[0]?.closed;
    expect(server.came[0]?.finished).toBe(false);
    expect(session).toMatchObject({ status: "cancelled", workflow: null });
    await expectError(planner.answer(session, "more"), "was cancelled");
  });
});
