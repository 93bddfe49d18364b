import { afterEach, describe, expect, test } from "bun:test";
import { type AgentFn, createRoleModerator, END } from "@uncaged/workflow";
import { runThread } from "@uncaged/workflow/testing";
import { z } from "zod";
import { handoff } from "../src/role/handoff.ts";
import { role, type RoleSpec } from "../src/role/role.ts";
import { tool, toolRegistry } from "../src/entry/index.ts";
import { allModels as models } from "./models.ts";
import type { Reply, WireServer } from "./wire.ts";

/* Tests a role's fields in the provider's structured-output mode, and the fallback without that mode. */
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()));
});

const schema = z.object({ files: z.array(z.string()), risk: z.enum(["low", "high"]).optional() });
const fits = { text: '{"files":["a.ts"]}' };
const wrong = { text: '{"files":"a.ts"}' };

type Own = { input?: Body["messages"]; instructions?: string };
type Body = {
  messages: { role: string; content: unknown }[];
  system?: unknown;
  tools?: { name?: string }[];
  tool_choice?: { type: string };
  output_config?: { format?: { schema: object } };
  text?: { format: { schema: object; strict: boolean } };
  response_format?: { json_schema: { schema: object; strict: boolean } };
};

/** Returns the received requests, with the Responses API's fields renamed to those of the other protocols. */
const bodiesOf = ({ came }: WireServer<object>): Body[] =>
  came.map(({ body }) => {
    const { input, instructions, ...given } = body as Body & Own;
    return input ? { ...given, messages: input, system: instructions } : given;
  });
const formatOf = ({ output_config, response_format, text }: Body) =>
  output_config?.format ?? response_format?.json_schema ?? text?.format;
/** Returns the system prompt as JSON. */
const promptOf = ({ system, messages }: Body): string =>
  JSON.stringify([system ?? messages.filter(({ role: by }) => by === "system")]);

describe.each(models)("the fields of a role of $name", (model) => {
  type Options = Parameters<typeof model.agent>[0];
  type Spec = Partial<RoleSpec<z.ZodObject>>;

  async function play(replies: Reply[], spec: Spec = {}, options: Options = {}) {
    const server = await model.serve(replies);
    stops.push(server.stop);
    const planner = role({
      ...{ description: "Plans", systemPrompt: "You plan.", schema },
      agent: model.agent({ maxRetries: 0, ...options }),
      ...spec,
    });
    const run = createRoleModerator({
      roles: { planner },
      moderator: ({ steps }) => (steps.length === 0 ? "planner" : END),
    });
    const outcome = await runThread(run, { env: model.env(server) });
    return { outcome, server, bodies: bodiesOf(server) };
  }

  test("are returned by one call, in the provider's structured-output mode", async () => {
    const { outcome, bodies, server } = await play([fits]);
    expect(outcome.steps).toMatchObject([{ content: fits.text, meta: { files: ["a.ts"] } }]);
    const [body] = bodies;
    expect(bodies).toHaveLength(1);
    expect(formatOf(body as Body)).toMatchObject({
      schema: { type: "object", additionalProperties: false },
    });
    expect(promptOf(body as Body)).not.toContain("code block");
    expect(outcome.steps[0]?.meta.usage).toMatchObject({ output_tokens: server.counted.output });
  });

  test("lack values that the model leaves out", async () => {
    const { outcome } = await play([{ text: '{"files":[],"risk":null}' }]);
    if (model.name !== "anthropic") {
      expect(outcome.steps).toMatchObject([{ content: '{"files":[]}', meta: { files: [] } }]);
    } else expect(outcome.status).toBe("failed");
  });

  test("name the next role, which must be one of the given roles", async () => {
    const server = await model.serve([
      { text: '{"handoff":"nobody"}' },
      { text: '{"handoff":"billing"}' },
      { text: '{"files":["bill.pdf"]}' },
    ]);
    stops.push(server.stop);
    const spec = { description: "", systemPrompt: "", agent: model.agent() };
    const desk = role({ ...spec, schema: z.object({ handoff: handoff(["billing"]) }) });
    const run = createRoleModerator<Record<string, Record<string, unknown>>>({
      roles: { desk, billing: role({ ...spec, schema }) },
      moderator: ({ steps }) => {
        const next = steps.length === 0 ? "desk" : steps.at(-1)?.meta.handoff;
        return typeof next === "string" ? next : END;
      },
    });
    const { steps } = await runThread(run, { env: model.env(server) });
    expect(steps.map((step) => [step.role, step.content])).toEqual([
      ["desk", '{"handoff":"billing"}'],
      ["billing", '{"files":["bill.pdf"]}'],
    ]);
    expect(JSON.stringify(formatOf(bodiesOf(server)[0] as Body))).toContain('"billing"');
    expect(JSON.stringify(bodiesOf(server)[1])).toContain("does not fit the JSON Schema");
  });

  test("are requested again in the same conversation, with the problems, at most twice", async () => {
    const { outcome, bodies } = await play([wrong, fits]);
    expect(outcome.steps).toMatchObject([{ content: fits.text, meta: { files: ["a.ts"] } }]);
    expect(bodies).toHaveLength(2);
    const talk = JSON.stringify(bodies[1]?.messages);
    expect(talk).toContain("files: Invalid input: expected array, received string");
    expect(bodies[1]?.messages.at(-2)?.role).toBe("assistant");
    expect(formatOf(bodies[1] as Body)).toEqual(formatOf(bodies[0] as Body));

    const never = await play([wrong]);
    expect(never.outcome).toMatchObject({
      error: { code: "EXTRACTION_FAILED", kept: { raw: wrong.text } },
    });
    expect(never.bodies).toHaveLength(3);
    expect((await play([wrong], { repairs: 0 })).bodies).toHaveLength(1);
  });

  test("come from the last answer, after the tool calls", async () => {
    let ran = 0;
    const look = tool({
      ...{ name: "look", description: "Looks", input: z.object({}) },
      execute: () => `a.ts, ${(ran += 1)}`,
    });
    const tools = toolRegistry([look]);
    const replies = [{ text: "I look.", tools: [{ name: "look" }] }, wrong, fits];
    const { outcome, bodies } = await play(replies, {}, { tools });
    expect(outcome.steps).toMatchObject([{ content: fits.text, meta: { files: ["a.ts"] } }]);
    expect([ran, bodies.length]).toEqual([1, 3]);
    expect(JSON.stringify(bodies[2]?.messages)).toContain("a.ts, 1");
  });

  test("are read from the text when the mode does not support the schema", async () => {
    const any = z.object({ counts: z.record(z.string(), z.number()) });
    const text = 'So:\n```json\n{"counts":{"a":1}}\n```';
    const { outcome, bodies } = await play([{ text }], { schema: any });
    expect(outcome.steps).toMatchObject([{ content: text, meta: { counts: { a: 1 } } }]);
    if (model.name !== "anthropic") expect(formatOf(bodies[0] as Body)).toBeUndefined();
    expect(bodies).toHaveLength(1);
  });

  test("are read from the end of the text when the role's answer is text", async () => {
    const text = 'It is a.ts.\n```json\n{"files":["a.ts"]}\n```';
    const { outcome, bodies } = await play([{ text: "It is a.ts." }, { text }], { answer: "text" });
    expect(outcome.steps).toMatchObject([{ content: text, meta: { files: ["a.ts"] } }]);
    expect(bodies.map(formatOf)).toEqual([undefined, undefined]);
    expect(promptOf(bodies[0] as Body)).toContain("End your answer with one JSON code block");
  });

  test("are not requested again after a refusal, a cut-off answer or silence", async () => {
    const cut = model.name !== "anthropic" ? "length" : "max_tokens";
    const stop = model.name !== "anthropic" ? "content_filter" : "refusal";
    const ends: [Reply, string][] = [
      [{ text: '{"files":', stop: cut }, "LLM_TRUNCATED"],
      [{ text: "", stop, detail: { category: "cyber", explanation: "No." } }, "LLM_REFUSED"],
      [{ text: "" }, "LLM_EMPTY"],
    ];
    for (const [reply, code] of ends) {
      const { outcome, bodies } = await play([reply], { retry: { attempts: 1 } });
      expect(outcome).toMatchObject({ status: "failed", error: { code } });
      expect(bodies).toHaveLength(1);
    }
  });

  test("are read from the output of an agent that does not request them from its model", async () => {
    const inner = model.agent({ maxRetries: 0 });
    const agent: AgentFn = async (ctx) => `{"files":["${await inner(ctx, "Name a file.")}"]}`;
    const { outcome, bodies } = await play([{ text: "a.ts" }], { agent });
    expect(outcome.steps).toMatchObject([{ meta: { files: ["a.ts"] } }]);
    expect(bodies.map(formatOf)).toEqual([undefined]);
  });

  const refusing =
    (isRefused: (body: Body) => boolean, reply: (body: Body) => Reply) =>
    (body: object): Reply => {
      const [given = body as Body] = bodiesOf({
        came: [{ body }],
      } as unknown as WireServer<object>);
      if (!isRefused(given)) return reply(given);
      const message = "output_config: Extra inputs are not permitted";
      return { fault: { kind: "status", status: 400, type: "invalid_request_error", message } };
    };

  test("are requested in another mode after the service refuses the first mode, and directly in that mode the next time", async () => {
    const script = refusing(
      (body) => formatOf(body) !== undefined || body.tool_choice !== undefined,
      () => ({ text: '```json\n{"files":["a.ts"]}\n```' }),
    );
    const server = await model.serve(script as unknown as Reply[]);
    stops.push(server.stop);
    const agent = model.agent({ maxRetries: 0 });
    const one = { description: "Plans", systemPrompt: "You plan.", schema, agent };
    const run = createRoleModerator({
      roles: { planner: role(one) },
      moderator: ({ steps }) => (steps.length < 2 ? "planner" : END),
    });
    const outcome = await runThread(run, { env: model.env(server) });
    expect(outcome.steps).toMatchObject([
      { meta: { files: ["a.ts"] } },
      { meta: { files: ["a.ts"] } },
    ]);
    expect(server.counted.requests).toBe(2);
    expect(server.came).toHaveLength(model.name === "anthropic" ? 4 : 3);
  });

  test("are requested in the same mode after an unrelated refusal", async () => {
    let isBroken = true;
    const bad = {
      kind: "status",
      status: 400,
      type: "invalid_request_error",
      message: "no",
    } as const;
    const script = () => (isBroken ? { fault: bad } : fits);
    const server = await model.serve(script as unknown as Reply[]);
    stops.push(server.stop);
    const agent = model.agent({ maxRetries: 0 });
    const planner = role({ description: "", systemPrompt: "You plan.", schema, agent });
    const run = createRoleModerator({
      roles: { planner },
      moderator: ({ steps }) => (steps.length === 0 ? "planner" : END),
    });
    const env = model.env(server);
    expect(await runThread(run, { env })).toMatchObject({ error: { code: "LLM_BAD_REQUEST" } });
    isBroken = false;
    expect((await runThread(run, { env })).status).toBe("completed");
    expect(formatOf(bodiesOf(server).at(-1) as Body)).toBeDefined();
  });

  if (model.name !== "anthropic") return;

  test("are the input of a required tool call when the service does not support a schema", async () => {
    const script = refusing(
      (body) => formatOf(body) !== undefined,
      ({ tools = [], messages }) => {
        const isAgain = JSON.stringify(messages).includes("does not fit");
        const [name = ""] = tools.map((each) => each.name);
        return { tools: [{ name, input: { files: isAgain ? ["a.ts"] : "a.ts" } }] };
      },
    );
    const server = await model.serve(script as unknown as Reply[]);
    stops.push(server.stop);
    const agent = model.agent({ maxRetries: 0 });
    const planner = role({ description: "Plans", systemPrompt: "You plan.", schema, agent });
    const run = createRoleModerator({
      roles: { planner },
      moderator: ({ steps }) => (steps.length === 0 ? "planner" : END),
    });
    const outcome = await runThread(run, { env: model.env(server) });
    expect(outcome.steps).toMatchObject([
      { content: '{"files":["a.ts"]}', meta: { files: ["a.ts"] } },
    ]);
    const bodies = bodiesOf(server);
    expect(bodies.map((body) => body.tool_choice?.type)).toEqual([undefined, "any", "any"]);
    expect(JSON.stringify(bodies[2]?.messages)).not.toContain("tool_use");
  });
});
