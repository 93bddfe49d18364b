// What a thread costs beside the bare client while a model streams 2,000 tokens a second: the agent, the
// events, the debug log that the engine writes, the step. Each figure is of a process of its own; the
// bare client's process reads the same stream in the same run. What it does not measure: who follows.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { addWorkflow, openRoot } from "@uncaged/workflow/host";
import type { Taken } from "./thread-child.ts";

const rate = 2000;
const seconds = 5;
const rounds = 5;
const shortTokens = 200;
const longTokens = [250_000, 1_000_000];

const fileOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** A server in a process of its own, so that its time is not ours. */
async function serve(tokens: number, perSecond: number) {
  const args = [process.execPath, fileOf("./paced-server.ts"), String(tokens), String(perSecond)];
  const child = Bun.spawn(args, { stdout: "pipe" });
  const { value } = await child.stdout.getReader().read();
  const port = Number(new TextDecoder().decode(value));
  return { url: `http://127.0.0.1:${port}`, stop: () => child.kill() };
}

const folder = mkdtempSync(join(tmpdir(), "uncaged-bench-"));
const root = openRoot({ path: join(folder, "root") });
const { hash } = await addWorkflow(root, "stream", fileOf("../test/bundles/anthropic.ts"));
const short = await serve(shortTokens, 0);

async function take(how: "bare" | "thread", url: string, tokens: number): Promise<Taken> {
  const script = fileOf("./thread-child.ts");
  const args = [process.execPath, script, how, short.url, url, join(folder, "root"), hash];
  const child = Bun.spawn(args, { stdout: "pipe" });
  const taken = JSON.parse(await child.stdout.text()) as Taken;
  if (taken.length !== tokens * 5) throw new Error(`${how}: ${taken.length} characters came`);
  return taken;
}

const median = (figures: number[]) =>
  figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? Number.NaN;

const ways = ["bare", "thread"] as const;

const paced = await serve(rate * seconds, rate);
const shares: Record<(typeof ways)[number], number[]> = { bare: [], thread: [] };
for (let round = 0; round < rounds; round += 1) {
  for (const how of ways) {
    const { cpuMs, wallMs } = await take(how, paced.url, rate * seconds);
    shares[how].push((100 * cpuMs) / wallMs);
  }
}
paced.stop();
const [bare, thread] = [median(shares.bare), median(shares.thread)];
console.log(`${rate} tokens a second: the bare client ${bare.toFixed(2)} % of a core`);
console.log(`a thread ${thread.toFixed(2)} %, ${(thread - bare).toFixed(2)} of it ours`);

for (const tokens of longTokens) {
  const fast = await serve(tokens, 0);
  const grown: Record<(typeof ways)[number], number[]> = { bare: [], thread: [] };
  for (let round = 0; round < 3; round += 1) {
    for (const how of ways) grown[how].push((await take(how, fast.url, tokens)).grown / 2 ** 20);
  }
  fast.stop();
  const [floor, ours] = [median(grown.bare).toFixed(1), median(grown.thread).toFixed(1)];
  const answer = ((tokens * 5) / 2 ** 20).toFixed(1);
  console.log(`an answer of ${answer} MB: the bare client takes ${floor} MB, a thread ${ours} MB`);
}
short.stop();
rmSync(folder, { recursive: true });
