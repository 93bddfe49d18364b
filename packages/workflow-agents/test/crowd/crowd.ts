import { type AgentFn, createRoleModerator, durable, END, noUsage } from "@uncaged/workflow";
import type { Role, ThreadContext, WorkflowFn } from "@uncaged/workflow";
import type { AgentOutput } from "@uncaged/workflow-agents";
import {
  anthropicAgent,
  commandAgent,
  describe,
  openaiAgent,
  role,
  roleSteps,
} from "@uncaged/workflow-agents";
import * as z from "zod/mini";

/* Twenty agents of one role at once, in each way that a workflow can run them. */
const parts = Array.from({ length: 20 }, (_, number) => number);

type Line = { session?: string; text?: string; spent?: number; answer?: string };

function outputsOf({ session, text, spent, answer }: Line): AgentOutput[] {
  const usage = { ...noUsage, output_tokens: spent ?? 0 };
  if (session !== undefined) return [{ kind: "session", id: session }];
  if (text !== undefined) return [{ kind: "text", delta: text }];
  return [
    { kind: "spent", spent: { model: "house", usage, cost: 0.5 } },
    { kind: "result", text: answer ?? "" },
  ];
}

const agents: AgentFn[] = [
  anthropicAgent({ model: "claude-opus-5-5", maxRetries: 0 }),
  openaiAgent({ model: "gpt-5.2", maxRetries: 0 }),
  commandAgent({
    argv: ["node", "part.mjs", ["{session}"]],
    env: ["CROWD_*"],
    output: () => (line) => outputsOf(line as Line),
  }),
];

const agentOf: AgentFn = (ctx, systemPrompt) => {
  const number = Number(/\d+/.exec(ctx.start.content)?.[0]);
  return (agents[number % agents.length] as AgentFn)(ctx, systemPrompt);
};

const writer = role({
  description: "Writes a part",
  agent: agentOf,
  systemPrompt: "Write.",
  schema: z.object({}),
});

const asked = (ctx: ThreadContext, number: number): ThreadContext => ({
  ...ctx,
  start: { ...ctx.start, content: `Part ${number}` },
});

const together = async (texts: Promise<unknown>[]) => {
  await Promise.all(texts);
  return { content: "written", meta: {} };
};

const team: Role<object> = (ctx) => together(parts.map((number) => writer(asked(ctx, number))));

const bare: Role<object> = (ctx) =>
  together(parts.map((number) => agentOf(asked(ctx, number), "")));

const single = role({
  description: "Writes a part",
  agent: agents[0] as AgentFn,
  systemPrompt: "Write.",
  schema: z.object({}),
});
const oneByOne: Role<object> = (ctx) => single(asked(ctx, ctx.steps.length));

const moderated = (play: Role<object>, rounds: number): WorkflowFn =>
  createRoleModerator<{ writer: Record<string, unknown> }>({
    roles: { writer: play as Role<Record<string, unknown>> },
    moderator: ({ steps }) => (steps.length < rounds ? "writer" : END),
  });

const all = durable(async function* (step, input, options) {
  const play = roleSteps(step, input, options);
  for (const _ of Array(Number(options.rounds ?? 1)).keys()) {
    yield* step.all(parts.map((number) => play("writer", writer, `Part ${number}`)));
  }
  return "written";
});

const ways: Record<string, WorkflowFn> = {
  all,
  team: moderated(team, 1),
  bare: moderated(bare, 1),
  rounds: moderated(oneByOne, parts.length),
};

export const descriptor = describe("Writes twenty parts", { writer });

export const run: WorkflowFn = async function* (input, options) {
  return yield* (ways[String(options.by)] as WorkflowFn)(input, options);
};
