import { createHash } from "node:crypto";
import { appendFileSync, existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createGoogle } from "@ai-sdk/google";
import { type Descriptor, durable } from "@uncaged/workflow";
import { generateText, isStepCount, streamText, tool } from "ai";
import { z } from "zod";
import { durableModel, durableTools } from "../../src/entry/ai-sdk.ts";

/*
 * A program of the AI SDK whose model answers with images, also together with a tool call. The prompt names the way to
 * call.
 */

function dieAt(place: string): void {
  const file = join(process.cwd(), "die");
  if (!existsSync(file) || readFileSync(file, "utf8") !== place) return;
  rmSync(file);
  process.kill(process.pid, "SIGKILL");
}

const frame = tool({
  description: "Frames the picture",
  inputSchema: z.object({ n: z.number() }),
  execute: ({ n }) => {
    dieAt("before");
    appendFileSync(join(process.cwd(), "marks"), `${n}\n`);
    return `framed ${n}`;
  },
});

export const descriptor: Descriptor = {
  description: "Paints",
  roles: { painter: { description: "Calls the model", schema: { type: "object" } } },
};

export const run = durable(async function* (step, { prompt: way }) {
  return yield* step("painter", async () => {
    const google = createGoogle({ baseURL: `${process.env.GOOGLE_URL}/v1beta` });
    const request = {
      model: durableModel(google("gemini-3-pro-image")),
      tools: durableTools({ frame }),
      prompt: "paint it",
      stopWhen: isStepCount(5),
    };
    const files: { mediaType: string; uint8Array: Uint8Array }[] = [];
    let text = "";
    if (way === "stream") {
      for await (const part of streamText(request).stream) {
        if (part.type === "error") throw part.error;
        if (part.type === "text-delta") text += part.text;
        if (part.type === "file") files.push(part.file);
      }
    } else {
      for (const one of (await generateText(request)).steps) {
        text += one.text;
        files.push(...one.files);
      }
    }
    dieAt("end");
    const sums = files.map(({ mediaType, uint8Array }) => {
      const sum = createHash("sha256").update(uint8Array).digest("hex");
      return `${mediaType} ${uint8Array.length} ${sum}`;
    });
    return { text, sums };
  });
});
