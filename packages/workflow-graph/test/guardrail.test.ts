import { describe, expect, test } from "bun:test";
import { type ModelScript, scriptedProvider } from "@uncaged/workflow-agents";
import { runThread } from "@uncaged/workflow/testing";
import { openaiServer } from "../../workflow-agents/test/openai-server.ts";
import { agentsByName, checkSchema, modelAgents, openaiModels } from "../src/entry/agents.ts";
import { checkGraph } from "../src/entry/document.ts";
import { graphBundle } from "../src/entry/index.ts";
import { agent, lines, published, start, texts, timeless } from "./drawn.ts";

const kindSchema = {
  type: "object",
  properties: { kind: { enum: ["bug", "question"] } },
  required: ["kind"],
};

type Guardrail = Record<string, unknown>;

const bundleOf = (guardrail: Guardrail, connections = "s -> a; a -> b") => ({
  nodes: [start("s"), agent("a", { guardrail, systemPrompt: "You sort" }), agent("b"), agent("c")],
  connections: lines(connections),
});

/** Runs a graph whose agent has a guardrail with a scripted model. */
async function guarded(guardrail: Guardrail, script: ModelScript, connections?: string) {
  const models = [{ name: "script", provider: scriptedProvider(script), serves: () => true }];
  const { run } = graphBundle(bundleOf(guardrail, connections), {
    agents: modelAgents({ models }),
    schemas: checkSchema,
  });
  return await published(() => runThread(timeless(run), { prompt: "in" }));
}

describe("a guardrail", () => {
  test("retries the agent with the reason, and the output is the parsed JSON", async () => {
    const heard: string[] = [];
    const { result } = await guarded(
      { schema: kindSchema },
      {
        "You sort": [
          '{"kind": "praise"}',
          ({ messages }) => {
            heard.push(JSON.stringify(messages.at(-1)?.content));
            return '```json\n{ "kind": "bug" }\n```';
          },
        ],
        helpful: [({ messages }) => `got ${JSON.stringify(messages.at(-1)?.content)}`],
      },
    );
    expect(heard).toEqual([expect.stringContaining('must be \\"bug\\" or \\"question\\"')]);
    expect(result.status).toBe("completed");
    expect(result.steps.find(({ role }) => role === "a")?.meta.output).toEqual({ kind: "bug" });
    expect(texts(result).at(-1)).toBe(`b: got ${JSON.stringify('{"kind":"bug"}')}`);
  });

  test("sends the schema to the provider", async () => {
    const server = await openaiServer([{ text: '{"kind":"bug"}' }, { text: "done" }]);
    const env = { OPENAI_API_KEY: server.key, OPENAI_BASE_URL: server.url };
    const { run } = graphBundle(bundleOf({ schema: kindSchema }), {
      agents: modelAgents({ models: [openaiModels()] }),
      schemas: checkSchema,
    });
    const { status } = await runThread(timeless(run), { prompt: "in", env });
    expect(status).toBe("completed");
    expect(server.came[0]?.body).toMatchObject({ response_format: { type: "json_schema" } });
    expect(server.came[1]?.body).not.toHaveProperty("response_format");
    await server.stop();
  });

  test("fails its node when no retry is left, with every reason", async () => {
    const guardrail = { matches: ["^\\d+$"], rejects: ["secret"], retries: 1 };
    const { result } = await guarded(guardrail, { "You sort": ["a secret", "the secret"] });
    expect(result).toMatchObject({
      status: "failed",
      message:
        "a: the answer fails the guardrail: it does not match /^\\d+$/u; it matches /secret/u",
    });
  });

  test("follows the rejected handle when no retry is left, and other handles otherwise", async () => {
    const script = (answer: string) => ({ "You sort": [answer], helpful: ["done"] });
    const guardrail = { matches: ["^yes"], retries: 0 };
    const connections = "s -> a; a -> b; a -rejected-> c";
    const accepted = await guarded(guardrail, script("yes"), connections);
    expect(texts(accepted.result)).toEqual(["s: in", "a: yes", "b: done"]);
    const rejected = await guarded(guardrail, script("no"), connections);
    expect(texts(rejected.result)).toEqual(["s: in", "a: no", "c: done"]);
    expect(rejected.log).toContain(
      "a warn: a: the answer fails the guardrail: it does not match /^yes/u",
    );
  });

  test("may lead back to its agent through the rejected handle", async () => {
    const { result } = await guarded(
      { matches: ["^yes"], retries: 0 },
      {
        "You sort": [({ messages }) => (messages.at(-1)?.content === "in" ? "no" : "yes")],
        helpful: ["done"],
      },
      "s -> a; a -> b; a -rejected-> a",
    );
    expect(texts(result)).toEqual(["s: in", "a: no", "a: yes", "b: done"]);
  });

  test("checks the answers of agents that are not models", async () => {
    const agents = agentsByName({ Agent: async () => "no" });
    const { run } = graphBundle(bundleOf({ matches: ["yes"] }), { agents });
    const outcome = await runThread(timeless(run), { prompt: "in" });
    expect(outcome).toMatchObject({
      status: "failed",
      message: expect.stringContaining("fails the guardrail"),
    });
  });

  test("with a schema needs a bundle that checks schemas", async () => {
    const { run } = graphBundle(bundleOf({ schema: kindSchema }), {
      agents: async () => ({ output: "{}" }),
    });
    const outcome = await runThread(timeless(run), { prompt: "in" });
    expect(outcome).toMatchObject({ message: expect.stringContaining("can't check schemas") });
  });

  test("with an invalid regular expression is an error of the graph", () => {
    const { errors } = checkGraph(bundleOf({ rejects: ["(", "a"] }));
    expect(errors).toEqual([
      {
        path: ["nodes", 1, "data", "guardrail", "rejects", 0],
        message: expect.stringContaining("a: Invalid regular expression"),
      },
    ]);
  });

  test("is required for the handle rejected", async () => {
    const document = { ...bundleOf({}), connections: lines("s -> a; a -rejected-> b") };
    expect(checkGraph(document).warnings).toMatchObject([{ path: ["nodes", 1, "data"] }]);
    const { run } = graphBundle(document, { agents: async () => ({ output: "x" }) });
    expect(texts(await runThread(timeless(run), { prompt: "in" }))).toHaveLength(3);
  });
});
