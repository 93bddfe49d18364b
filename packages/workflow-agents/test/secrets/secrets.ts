import { createRoleModerator, END, type ThreadContext } from "@uncaged/workflow";
import { z } from "zod";
import {
  anthropicAgent,
  asTool,
  describe,
  fallback,
  handoff,
  image,
  mcpTools,
  openaiAgent,
  role,
  tool,
  toolRegistry,
} from "../../src/entry/index.ts";

/* Roles whose tools repeat secrets of the thread's environment. The prompt names the role. */
const shown = (env: Readonly<Record<string, string>>): string =>
  Object.entries(env)
    .filter(([name]) => name !== "PATH")
    .map(([name, value]) => `${name}=${value}`)
    .join("\n");

const leak = tool({
  ...{ name: "leak", description: "Leaks", input: z.object({ text: z.string() }) },
  execute({ text }, { env, ...execution }) {
    execution.progress(shown(env));
    return `${text}\n${shown(env)}\n${"x".repeat(12_000)}`;
  },
});
const png = Buffer.from("\x89PNG\r\n\x1a\n....", "latin1");
const look = tool({
  ...{ name: "leak", description: "Looks", input: z.object({ text: z.string() }) },
  execute: ({ text }, { env }) => [text, image(png), shown(env)],
});
const fail = tool({
  ...{ name: "leak", description: "Fails", input: z.object({ text: z.string() }) },
  execute({ text }, { env }) {
    throw new Error(`${text} ${shown(env)}`);
  },
});
const sums = mcpTools({
  ...{ name: "sums", command: "sh", args: ["-c", 'exec "$BUN" "$SUMS" stdio'] },
  env: ["BUN", "SUMS", "SUMS_TOKEN"],
});

const tools = toolRegistry([leak], { maxResult: 1_000_000 });
const model = "claude-opus-5-5";
const plain = { schema: z.object({}), description: "Leaks" };
const claude = anthropicAgent({ model, tools, maxRetries: 0 });
const own = { ...plain, agent: claude };
const asked = role({ ...own, systemPrompt: "case:author" });
const author = async (ctx: ThreadContext) => ({
  ...(await asked(ctx)),
  content: `It is ${ctx.env?.ANTHROPIC_API_KEY}`,
});
const inner = role({ ...own, systemPrompt: "case:inner" });
const search = { type: "web_search_20260209", name: "web_search" };

const roles = {
  turns: role({ ...own, systemPrompt: "case:turns" }),
  killed: role({ ...own, systemPrompt: "case:killed" }),
  fields: role({
    ...{ ...own, systemPrompt: "case:fields" },
    schema: z.object({ done: z.boolean() }),
  }),
  handoff: role({
    ...{ ...own, systemPrompt: "case:handoff" },
    schema: z.object({ handoff: handoff(["turns"]) }),
  }),
  asTool: role({
    ...{ ...plain, systemPrompt: "case:asTool" },
    agent: anthropicAgent({ model, tools: toolRegistry([asTool(inner, { name: "inner" })]) }),
  }),
  compaction: role({
    ...{ ...plain, systemPrompt: "case:compaction" },
    agent: anthropicAgent({ model, tools, context: { window: 8000 } }),
  }),
  fallback: role({
    ...{ ...plain, systemPrompt: "case:fallback" },
    agent: fallback([claude, openaiAgent({ model: "gpt-5.2", tools, maxRetries: 0 })]),
  }),
  retry: role({ ...own, systemPrompt: "case:retry", retry: { attempts: 2, backoff: "1ms" } }),
  pictures: role({
    ...{ ...plain, systemPrompt: "case:pictures" },
    agent: anthropicAgent({ model, tools: toolRegistry([look]), files: () => [image(png)] }),
  }),
  failing: role({
    ...{ ...plain, systemPrompt: "case:failing" },
    agent: anthropicAgent({ model, tools: toolRegistry([fail]) }),
  }),
  chat: role({
    ...{ ...plain, systemPrompt: "case:chat" },
    agent: openaiAgent({ model: "gpt-5.2", tools }),
  }),
  responses: role({
    ...{ ...plain, systemPrompt: "case:responses" },
    agent: openaiAgent({ model: "gpt-5.2", api: "responses", tools, effort: "low" }),
  }),
  hosted: role({
    ...{ ...plain, systemPrompt: "case:hosted" },
    agent: anthropicAgent({ model, tools, hostedTools: [search] }),
  }),
  mcp: role({
    ...{ ...plain, systemPrompt: "case:mcp" },
    agent: anthropicAgent({ model, tools: toolRegistry([sums]) }),
  }),
  answer: role({ ...own, systemPrompt: "case:answer" }),
  noted: role({
    ...{ ...own, systemPrompt: "case:noted" },
    schema: z.object({ done: z.boolean(), note: z.string() }),
  }),
  author: Object.assign(author, { descriptor: asked.descriptor }),
  refused: role({ ...own, systemPrompt: "case:refused" }),
};

export const descriptor = describe("Leaks", roles);
export const run = createRoleModerator<Record<string, Record<string, unknown>>>({
  roles,
  moderator({ start, steps }) {
    if (steps.length === 0) return start.content;
    const next = steps.at(-1)?.meta.handoff;
    return typeof next === "string" ? next : END;
  },
});
