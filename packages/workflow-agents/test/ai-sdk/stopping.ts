import { appendFileSync, existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createAnthropic } from "@ai-sdk/anthropic";
import { type Descriptor, durable } from "@uncaged/workflow";
import { generateText, isStepCount, streamText, tool } from "ai";
import { z } from "zod";
import { durableModel, durableTools } from "../../src/entry/ai-sdk.ts";

/*
 * A program that stops its own call when the file `stop` appears in the thread's folder, and then makes another call.
 * The prompt has the way to call, and may have `late` for a signal with the reason of a timeout, or `brief` for a
 * timeout of the tool itself.
 */

const at = (name: string): string => join(process.cwd(), name);

function dieAt(place: string): void {
  if (!existsSync(at("die")) || readFileSync(at("die"), "utf8") !== place) return;
  rmSync(at("die"));
  process.kill(process.pid, "SIGKILL");
}

const watch = tool({
  description: "Watches until it is stopped",
  inputSchema: z.object({ n: z.number() }),
  execute: async ({ n }, { abortSignal, toolCallId }): Promise<string> => {
    appendFileSync(at("marks"), `${n} ${toolCallId}\n`);
    const { promise, reject } = Promise.withResolvers<string>();
    abortSignal?.addEventListener("abort", () => reject(abortSignal.reason as Error));
    return await promise;
  },
});

export const descriptor: Descriptor = {
  description: "Stops its calls",
  roles: { assistant: { description: "Calls the model", schema: { type: "string" } } },
};

export const run = durable(async function* (step, { prompt: asked }) {
  const [way, limit] = asked.split(" ");
  const late = limit === "late";
  return yield* step("assistant", async () => {
    const stopping = new AbortController();
    const reason = new DOMException(
      late ? "too late" : "stopped",
      late ? "TimeoutError" : "AbortError",
    );
    const looking = setInterval(() => {
      if (!existsSync(at("stop"))) return;
      rmSync(at("stop"));
      stopping.abort(reason);
    }, 10);
    const baseURL = `${process.env.ANTHROPIC_BASE_URL}/v1`;
    const model = durableModel(createAnthropic({ baseURL })("claude-opus-5-5"));
    const tools = durableTools({ watch });
    const request = {
      ...{ model, tools, prompt: "watch it", stopWhen: isStepCount(5) },
      abortSignal: stopping.signal,
      ...(limit === "brief" && { timeout: { toolMs: 20 } }),
    };
    let said = "";
    try {
      if (way === "stream") {
        for await (const part of streamText(request).stream) {
          if (part.type === "error") throw part.error;
          if (part.type === "text-delta") said += part.text;
          if (part.type === "abort") said += "|";
        }
      } else said = (await generateText(request)).text;
    } catch (error) {
      said = (error as Error).name;
    }
    clearInterval(looking);
    dieAt("stopped");
    const { text } = await generateText({ model, prompt: "go on" });
    dieAt("end");
    return `${said} ${text}`;
  });
});
