// What reading a stream of tokens costs beside the bare client, in the same run: of one core's time at
// 2,000 tokens a second, and of memory for an answer of a million tokens.
//
// The bare client is read as our code reads it: its events in a loop, the text put together. `helper` is
// the client's own way to do that. What it does not measure: what the engine does with the events.
import { channel } from "node:diagnostics_channel";
import { fileURLToPath } from "node:url";
import Anthropic from "@anthropic-ai/sdk";
import { type AgentFn, eventsChannel } from "@uncaged/workflow";
import OpenAI from "openai";
import { anthropicAgent } from "../src/anthropic/anthropic.ts";
import { openaiAgent } from "../src/openai/openai.ts";
import { threadOf } from "../test/published.ts";

const rate = 2000;
const seconds = 4;
const rounds = 5;
const long = 1_000_000;
const apiKey = "sk-bench";

type Way = { name: string; read: (url: string) => Promise<string> };

const ours = (agent: (url: string) => AgentFn) => (url: string) => agent(url)(threadOf(), "");
const messages = [{ role: "user" as const, content: "go" }];

const providers: Record<string, Way[]> = {
  anthropic: [
    {
      name: "bare",
      async read(baseURL) {
        const client = new Anthropic({ apiKey, baseURL });
        const asked = { model: "m", max_tokens: 10, messages, stream: true } as const;
        const parts: string[] = [];
        for await (const event of await client.messages.create(asked)) {
          if (event.type !== "content_block_delta") continue;
          if (event.delta.type === "text_delta") parts.push(event.delta.text);
        }
        return parts.join("");
      },
    },
    {
      name: "helper",
      read: (baseURL) => {
        const client = new Anthropic({ apiKey, baseURL });
        return client.messages.stream({ model: "m", max_tokens: 10, messages }).finalText();
      },
    },
    { name: "ours", read: ours((baseUrl) => anthropicAgent({ model: "m", apiKey, baseUrl })) },
  ],
  openai: [
    {
      name: "bare",
      async read(baseURL) {
        const client = new OpenAI({ apiKey, baseURL });
        const parts: string[] = [];
        const asked = { model: "m", messages, stream: true } as const;
        for await (const { choices } of await client.chat.completions.create(asked)) {
          parts.push(choices[0]?.delta.content ?? "");
        }
        return parts.join("");
      },
    },
    { name: "ours", read: ours((baseUrl) => openaiAgent({ model: "m", apiKey, baseUrl })) },
  ],
};

/** A server in a process of its own, so that its time is not ours. */
async function serve(tokens: number, perSecond: number) {
  const script = fileURLToPath(new URL("./paced-server.ts", import.meta.url));
  const args = [process.execPath, script, String(tokens), String(perSecond)];
  const child = Bun.spawn(args, { stdout: "pipe" });
  const { value } = await child.stdout.getReader().read();
  const port = Number(new TextDecoder().decode(value));
  return { url: `http://127.0.0.1:${port}`, stop: () => child.kill() };
}

const median = (figures: number[]) =>
  figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? Number.NaN;

let heard = 0;
const events = channel(eventsChannel);
events.subscribe(() => {
  heard += 1;
});

/** The part of one core that reading takes, in per cent. */
async function cpuOf({ read }: Way, url: string, tokens: number): Promise<number> {
  const before = process.cpuUsage();
  const began = performance.now();
  const text = await read(url);
  const { user, system } = process.cpuUsage(before);
  if (text.length !== tokens * 5) throw new Error(`${text.length} characters came`);
  return (user + system) / 10 / (performance.now() - began);
}

/** The most memory that reading took above what there was, in megabytes. */
async function memoryOf({ read }: Way, url: string): Promise<number> {
  Bun.gc(true);
  const before = process.memoryUsage().rss;
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 20);
  const { length } = await read(url);
  clearInterval(timer);
  if (length !== long * 5) throw new Error(`${length} characters came`);
  return (most - before) / 2 ** 20;
}

const only = process.argv[2];
for (const [provider, ways] of Object.entries(providers)) {
  const paced = await serve(rate * seconds, rate);
  const figures = new Map<string, number[]>(ways.map(({ name }) => [name, []]));
  for (const way of ways) await cpuOf(way, paced.url, rate * seconds);
  for (let round = 0; round < rounds && only !== "memory"; round += 1) {
    for (const way of ways) {
      figures.get(way.name)?.push(await cpuOf(way, paced.url, rate * seconds));
    }
  }
  paced.stop();
  const bare = median(figures.get("bare") ?? []);
  for (const [name, taken] of figures) {
    const more = median(taken) - bare;
    const figure = `${median(taken).toFixed(2)} % of a core`;
    console.log(`${provider} ${name}: ${figure}, ${more.toFixed(2)} above the bare client`);
  }
  const fast = await serve(long, 0);
  for (const way of ways.filter(({ name }) => name !== "helper")) {
    const taken: number[] = [];
    for (let round = 0; round < 3; round += 1) taken.push(await memoryOf(way, fast.url));
    const answer = ((long * 5) / 2 ** 20).toFixed(1);
    console.log(
      `${provider} ${way.name}: ${median(taken).toFixed(1)} MB for ${answer} MB of answer`,
    );
  }
  fast.stop();
}
console.log(`${heard} events were heard`);
