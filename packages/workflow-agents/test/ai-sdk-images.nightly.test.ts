import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { mkdirSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { settled, type ThreadRef } from "@uncaged/workflow/host";
import { ModelRuns } from "./model-runs.ts";

/* Tests that images in a model's answers survive a kill of the step's process. */
setDefaultTimeout(180_000);

const bytesOf = (n: number): Buffer =>
  Buffer.concat(
    Array.from({ length: n }, (_, at) => createHash("sha256").update(`${n} ${at}`).digest()),
  );
/** Pictures of 64 bytes and of 3 MB. */
const pictures = [bytesOf(2), bytesOf(100_000)];
const inline = (bytes: Buffer) => ({
  inlineData: { mimeType: "image/png", data: bytes.toString("base64") },
});

type Part = { inlineData?: { data: string }; functionResponse?: object };
type Body = { contents: { role: string; parts: Part[] }[] };

/** A server for Google's Gemini API: `generateContent`, and `streamGenerateContent` with server-sent events. */
class Gemini {
  readonly came: Body[] = [];
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const [, way] = /^\/v1beta\/models\/[\w.-]+:(\w+)(\?alt=sse)?$/.exec(request.url ?? "") ?? [];
      if (!way || request.headers["x-goog-api-key"] !== "sk-google-0123456789") {
        response.writeHead(404).end();
        return;
      }
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Body;
      this.came.push(body);
      const isStream = way === "streamGenerateContent";
      response.writeHead(200, {
        "content-type": isStream ? "text/event-stream" : "application/json",
      });
      response.end(
        isStream ? streamed(answer(body)) : JSON.stringify(document(answer(body), "STOP")),
      );
    });
  });

  async listen(): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.listen(0, "127.0.0.1", resolve);
    await promise;
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

const usageMetadata = { promptTokenCount: 100, candidatesTokenCount: 40, totalTokenCount: 140 };

const document = (parts: object[], finishReason?: string) => ({
  candidates: [{ content: { role: "model", parts }, index: 0, finishReason }],
  ...(finishReason && { usageMetadata }),
  modelVersion: "gemini-3-pro-image",
});

const streamed = (parts: object[]): string =>
  parts
    .map((part, at) => document([part], at === parts.length - 1 ? "STOP" : undefined))
    .map((one) => `data: ${JSON.stringify(one)}\r\n\r\n`)
    .join("");

/** Returns the small picture with a tool call, and after the tool's result the large picture. */
function answer({ contents }: Body): object[] {
  const isFramed = contents.some(({ parts }) => parts.some((part) => part.functionResponse));
  if (isFramed) return [{ text: "in its frame" }, inline(pictures[1] as Buffer)];
  return [
    { text: "a picture, ", thoughtSignature: "c2lnbmVk" },
    inline(pictures[0] as Buffer),
    { functionCall: { name: "frame", args: { n: 1 } }, thoughtSignature: "c2lnbmVkIHRvbw==" },
  ];
}

let models: ModelRuns;
const gemini = new Gemini();
let url = "";

beforeAll(async () => {
  url = await gemini.listen();
  models = await ModelRuns.open(() => ({}));
  await models.host.register("painter", join(import.meta.dir, "ai-sdk/painter.ts"));
}, 180_000);
afterAll(async () => {
  gemini.stop();
  await models.close();
});

let count = 0;
async function paint(way: string, die: string): Promise<ThreadRef> {
  gemini.came.length = 0;
  const cwd = join(models.folder, `paint-${(count += 1)}`);
  mkdirSync(cwd);
  if (die) writeFileSync(join(cwd, "die"), die);
  const env = {
    PATH: process.env.PATH ?? "",
    ...{ GOOGLE_URL: url, GOOGLE_GENERATIVE_AI_API_KEY: "sk-google-0123456789" },
  };
  const ref = await models.host.start({ workflow: "painter", prompt: way, env, cwd });
  const view = await settled(models.host, ref);
  if (view.status === "interrupted") {
    await models.host.control(ref, { kind: "resume", env });
    await settled(models.host, ref);
  }
  return ref;
}

const cases = ["generate", "stream"].flatMap((way) =>
  ["", "before", "end"].map((die) => [way, die] as const),
);

test.each(cases)(
  "the images of a %s call are recorded with their bytes and sent back to the model (kill: '%s')",
  async (way, die) => {
    const ref = await paint(way, die);
    const { host } = models;
    const { status, steps } = await host.read(ref);
    expect(status).toBe("completed");
    const sums = pictures.map(
      (bytes) => `image/png ${bytes.length} ${createHash("sha256").update(bytes).digest("hex")}`,
    );
    expect(JSON.parse(steps[0]?.content ?? "")).toEqual({ text: "a picture, in its frame", sums });
    // Both answers are paid for once, and the second request has the picture of the first answer.
    expect(gemini.came.length).toBe(2);
    const sent = gemini.came[1]?.contents.flatMap(({ parts }) => parts) ?? [];
    expect(sent.flatMap(({ inlineData }) => inlineData?.data ?? [])).toEqual([
      (pictures[0] as Buffer).toString("base64"),
    ]);
    const attempts = await host.attempts(ref);
    expect(attempts.map((one) => one.status)).toEqual(die ? ["lost", "committed"] : ["committed"]);
    expect(attempts.at(-1)?.usage).toMatchObject({ input_tokens: 200, output_tokens: 80 });
  },
);
