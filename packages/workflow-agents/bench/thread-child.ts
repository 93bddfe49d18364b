// Reads a stream in its own process, with the provider's client (`thread-child.ts bare <short> <url>`) or as a role of
// a thread (`thread-child.ts thread <short> <url> <root> <hash>`). Reads the stream at `short` first, to warm up.
// Prints the times of reading the second stream as JSON.
import Anthropic from "@anthropic-ai/sdk";
import { loadBundle } from "../../workflow/src/bundle/store.ts";
import { DiskStore } from "../../workflow/src/disk/store.ts";
import { dataPath } from "../../workflow/src/disk/paths.ts";
import { openRoot } from "../../workflow/src/disk/root.ts";
import { recordEvents, SharedEnv } from "../../workflow/src/worker/context.ts";
import { Threads } from "../../workflow/src/worker/threads.ts";
import { placeIn } from "../../workflow/src/worker/worker.ts";

/** The CPU time and the elapsed time of a read in milliseconds, and the length of its text in characters. */
export type Taken = { cpuMs: number; wallMs: number; length: number };

const [how = "", short = "", long = "", path = "", hash = ""] = process.argv.slice(2);
const apiKey = "sk-bench-0123456789";

/** Reads a stream. Returns a function that computes the length of its text outside of the measured time. */
type Reading = (baseURL: string) => Promise<() => Promise<number>>;

const bare: Reading = async (baseURL) => {
  const client = new Anthropic({ apiKey, baseURL });
  const messages = [{ role: "user" as const, content: "go" }];
  const asked = { model: "m", max_tokens: 10, messages, stream: true } as const;
  const parts: string[] = [];
  for await (const event of await client.messages.create(asked)) {
    if (event.type !== "content_block_delta") continue;
    if (event.delta.type === "text_delta") parts.push(event.delta.text);
  }
  const { length } = parts.join("");
  return async () => length;
};

const root = openRoot({ path });
let over = () => {};
const threads: Threads = new Threads({
  store: new DiskStore(root),
  hash,
  place: placeIn(root, hash),
  load: () => loadBundle(root, hash),
  orphans: { ended: Promise.resolve(), report: {}, besideFork: async () => ({}) },
  env: new SharedEnv({}),
  note: () => undefined,
  onChange: () => {
    if (!threads.busy) over();
  },
});

const thread: Reading = async (baseURL) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  over = resolve;
  const threadId = `01JBENCH${crypto.randomUUID().replace(/-/g, "").slice(0, 18).toUpperCase()}`;
  const env = { ANTHROPIC_API_KEY: apiKey, ANTHROPIC_BASE_URL: baseURL };
  await threads.start({ threadId, workflow: hash, prompt: "go", maxRounds: 9, env });
  await promise;
  return async () => {
    const log = await Bun.file(dataPath(root, hash, threadId)).text();
    const { content = "" } = JSON.parse(log.split("\n")[1] ?? "{}") as { content?: string };
    return content.length;
  };
};

const read = how === "bare" ? bare : thread;
recordEvents();
await read(short);
const cpu = process.cpuUsage();
const began = performance.now();
const lengthOf = await read(long);
const { user, system } = process.cpuUsage(cpu);
const wallMs = performance.now() - began;
const taken: Taken = { cpuMs: (user + system) / 1000, wallMs, length: await lengthOf() };
console.log(JSON.stringify(taken));
process.exit(0);
