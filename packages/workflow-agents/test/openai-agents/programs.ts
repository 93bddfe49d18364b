import { appendFileSync, existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import {
  Agent,
  hostedMcpTool,
  type InputGuardrail,
  MemorySession,
  OpenAIResponsesModel,
  run as runAgent,
  Runner,
  tool,
} from "@openai/agents";
import { durable } from "@uncaged/workflow";
import OpenAI from "openai";
import { z } from "zod";
import { durableRunner } from "../../src/entry/openai-agents.ts";
import { FileSession } from "./file-session.ts";

/*
 * Programs of OpenAI's Agents SDK. The prompt selects the program. Its tools leave marks. The file `die` in the
 * thread's folder names the place at which the process exits.
 */

function dieAt(place: string): void {
  const file = join(process.cwd(), "die");
  if (!existsSync(file) || readFileSync(file, "utf8") !== place) return;
  rmSync(file);
  process.kill(process.pid, "SIGKILL");
}

const model = "gpt-5.2";

const leave = async ({ n }: { n: number }): Promise<string> => {
  dieAt(`before ${n}`);
  appendFileSync(join(process.cwd(), "marks"), `${n}\n`);
  dieAt(`after ${n}`);
  return `marked ${n}`;
};
const made = {
  description: "Leaves a mark",
  parameters: z.object({ n: z.number() }),
  execute: leave,
};
const mark = tool({ name: "mark", ...made });
const pay = tool({ name: "pay", ...made, needsApproval: async (_context, { n }) => n > 5 });

const judge = new Agent({
  name: "Judge",
  model,
  instructions: "You judge.",
  outputType: z.object({ isBad: z.boolean() }),
});
const policy: InputGuardrail = {
  name: "Policy",
  runInParallel: false,
  execute: async ({ input, context }) => {
    const { finalOutput } = await runAgent(judge, input, { context });
    return { outputInfo: finalOutput, tripwireTriggered: finalOutput?.isBad ?? true };
  },
};

const refunds = new Agent({
  name: "Refunds",
  model,
  instructions: "You refund.",
  handoffDescription: "Refunds orders",
  tools: [pay, mark],
});
const triage = Agent.create({
  name: "Triage",
  model,
  instructions: "You triage.",
  inputGuardrails: [policy],
  tools: [mark],
  handoffs: [refunds],
});

const expert = new Agent({ name: "Expert", model, instructions: "You know.", tools: [mark] });
const manager = new Agent({
  name: "Manager",
  model,
  instructions: "You manage.",
  tools: [expert.asTool({ toolName: "ask_expert", toolDescription: "Asks the expert" })],
});

const librarian = new Agent({
  name: "Librarian",
  model,
  instructions: "You look up.",
  tools: [
    hostedMcpTool({
      serverLabel: "docs",
      serverUrl: "https://docs.example.com/mcp",
      requireApproval: "always",
    }),
  ],
});

const runner = durableRunner();

/** Runs a guardrail, parallel tools, a handoff and a tool with an approval. */
async function support(): Promise<string> {
  const result = await runner.run(triage, "I want my money back");
  return `${result.lastAgent?.name}: ${result.finalOutput}`;
}

/** Runs the same agents with streaming. Throws if the streamed text differs from the final output. */
async function streamed(): Promise<string> {
  const result = await runAgent(triage, "I want my money back", { stream: true });
  let text = "";
  for await (const event of result) {
    if (event.type !== "raw_model_stream_event") continue;
    if (event.data.type === "output_text_delta") text += event.data.delta;
  }
  await result.completed;
  if (text !== result.finalOutput) throw new Error(`streamed ${text}`);
  return `${result.lastAgent?.name}: ${result.finalOutput}`;
}

/** Runs an agent with another agent as a tool, for two turns each in a session in a file and a session in memory. */
async function team(): Promise<string> {
  const texts: unknown[] = [];
  const kept = new FileSession(join(process.cwd(), "session"), () => dieAt("saved"));
  for (const session of [kept, new MemorySession()]) {
    for (const question of ["first", "second"]) {
      texts.push((await new Runner().run(manager, question, { session })).finalOutput);
    }
  }
  return texts.join(", ");
}

/** Runs an agent with its own model object and a hosted tool. */
async function hosted(): Promise<string> {
  const own = librarian.clone({ model: new OpenAIResponsesModel(new OpenAI(), model) });
  return String((await runner.run(own, "Where is it?")).finalOutput);
}

const programs = { support, streamed, team, hosted };

export const descriptor = { description: "Runs programs of the Agents SDK", roles: {} };
export const run = durable(async function* (step, { prompt }) {
  const said = yield* step("agents", async () => {
    const text = await programs[prompt as keyof typeof programs]();
    dieAt("end");
    return text;
  });
  return said;
});
