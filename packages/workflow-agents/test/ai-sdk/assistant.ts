import { appendFileSync, existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { type Descriptor, durable } from "@uncaged/workflow";
import { generateText, isStepCount, Output, streamText, tool, ToolLoopAgent } from "ai";
import { z } from "zod";
import { durableModel, durableTools } from "../../src/entry/ai-sdk.ts";

/*
 * A program of the AI SDK whose tools leave marks. The prompt names a model and a way to call it. The file `die` in the
 * thread's folder names the place at which the process exits.
 */

function dieAt(place: string): void {
  const file = join(process.cwd(), "die");
  if (!existsSync(file) || readFileSync(file, "utf8") !== place) return;
  rmSync(file);
  process.kill(process.pid, "SIGKILL");
}

const inputSchema = z.object({ n: z.number() });

function leave(n: number, toolCallId: string): string {
  dieAt(`before ${n}`);
  appendFileSync(join(process.cwd(), "marks"), `${n} ${toolCallId}\n`);
  dieAt(`after ${n}`);
  return `marked ${n}`;
}

const mark = tool({
  description: "Leaves a mark",
  inputSchema,
  execute: async ({ n }, { toolCallId }) => ({
    said: leave(n, toolCallId),
    at: new URL("https://example.com/mark"),
    bytes: new Uint8Array([n, 255]),
    none: undefined,
  }),
  // A recorded result has the same types as a new one.
  toModelOutput: ({ output: { said, at, bytes } }) => ({
    type: "text",
    value: `${said} at ${at.host} with ${bytes.length} bytes, the last ${bytes.at(-1)}`,
  }),
});

const pay = tool({
  description: "Pays once",
  inputSchema,
  execute: ({ n }, { toolCallId }) => leave(n, toolCallId),
});

const deploy = tool({
  description: "Deploys, after an approval",
  inputSchema,
  execute: ({ n }, { toolCallId }) => leave(n, toolCallId),
});

const watch = tool({
  description: "Reports progress",
  inputSchema,
  async *execute({ n }, { toolCallId }) {
    yield "watching";
    yield leave(n, toolCallId);
  },
});

const fail = tool({
  description: "Fails",
  inputSchema,
  execute: ({ n }, { toolCallId }): string => {
    throw new RangeError(`${leave(n, toolCallId)}, and failed`);
  },
});

const tools = durableTools(
  { mark, pay, deploy, watch, fail },
  { idempotent: { pay: false }, approve: { deploy: ({ n }) => n > 1 } },
);

function modelOf(name: string) {
  const { ANTHROPIC_BASE_URL } = process.env;
  if (name === "claude") {
    return createAnthropic({ baseURL: `${ANTHROPIC_BASE_URL}/v1` })("claude-opus-5-5");
  }
  const openai = createOpenAI();
  return name === "gpt" ? openai.chat("gpt-5.2") : openai.responses("gpt-5.2");
}

export const descriptor: Descriptor = {
  description: "Marks with the AI SDK",
  roles: { assistant: { description: "Calls the model", schema: { type: "object" } } },
};

export const run = durable(async function* (step, input) {
  const [name = "", way, tries] = input.prompt.split(" ");
  return yield* step("assistant", async () => {
    const request = {
      model: durableModel(modelOf(name)),
      tools,
      instructions: "Mark what you are asked to.",
      prompt: [
        {
          role: "user" as const,
          content: [
            { type: "text" as const, text: "mark all" },
            { type: "image" as const, image: new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10]) },
          ],
        },
      ],
      providerOptions: {
        openai: { store: false, include: ["reasoning.encrypted_content" as const] },
      },
      stopWhen: isStepCount(20),
      maxRetries: tries === "once" ? 0 : 2,
    };
    const { prompt, ...settings } = request;
    const agent = new ToolLoopAgent(settings);
    let text = "";
    if (way === "object") {
      const schema = z.object({ done: z.boolean() });
      return (await generateText({ ...request, output: Output.object({ schema }) })).output;
    }
    if (way === "stream" || way === "agent-stream") {
      const answer = way === "stream" ? streamText(request) : await agent.stream({ prompt });
      for await (const part of answer.stream) {
        if (part.type === "error") throw part.error;
        if (part.type === "text-delta") text += part.text;
      }
    } else if (way === "agent") {
      text = (await agent.generate({ prompt })).text;
    } else {
      const results = await Promise.all(
        (way === "parallel" ? [1, 2] : [1]).map(() => generateText(request)),
      );
      text = results.map((one) => one.text).join(" ");
    }
    dieAt("end");
    return text;
  });
});
