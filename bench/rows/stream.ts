import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Taken } from "../../packages/workflow-agents/bench/thread-child.ts";
import { openLocalHost } from "../../packages/workflow/src/host.ts";
import { inTurn, sampleOf } from "../measure.ts";
import { line, type Row } from "../row.ts";

const rate = 2000;
const seconds = 5;
const answers = [250_000, 1_250_000] as const;
const tokenBytes = 5;

type Way = "bare" | "thread";

/** A file of the agents' package. */
export const agentsFile = (path: string): string =>
  fileURLToPath(new URL(`../../packages/workflow-agents/${path}`, import.meta.url));

/**
 * A model that streams 2,000 tokens a second on one thread: what our code takes of a core beside the
 * bare client, and what memory takes as the answer gets longer. Each reading has a process of its own.
 */
export const stream: Row = {
  name: "stream",
  async measure(folder) {
    const root = mkdtempSync(join(folder, "root-"));
    const bundle = agentsFile("test/bundles/anthropic.ts");
    const { hash } = await openLocalHost({ path: root }).register("stream", bundle);
    const short = await serve(200, 0);
    const taker = (url: string) => (how: Way) => read(how, [short.url, url, root, hash]);
    try {
      const [bare, ours] = await shares(taker);
      const grown = await growth(taker);
      return [
        line(
          {
            what: "2,000 tokens a second, our part",
            unit: "% of a core",
            against: "the bare client",
            target: { most: 5 },
          },
          [bare, ours],
        ),
        line(
          {
            what: "memory, each further MB of answer",
            unit: "MB",
            against: "the bare client's",
            target: { ratio: 1.5 },
          },
          grown,
        ),
      ];
    } finally {
      short.stop();
    }
  },
};

type Taker = (url: string) => (how: Way) => Promise<Taken>;

async function shares(taker: Taker) {
  const paced = await serve(rate * seconds, rate);
  const take = taker(paced.url);
  const share = async (how: Way) => {
    const { cpuMs, wallMs } = await take(how);
    return (100 * cpuMs) / wallMs;
  };
  const bare: number[] = [];
  const ours: number[] = [];
  for (let n = 0; n < 9; n += 1) {
    const baseline = await share("bare");
    bare.push(baseline);
    ours.push((await share("thread")) - baseline);
  }
  paced.stop();
  return [sampleOf(bare), sampleOf(ours)] as const;
}

async function growth(taker: Taker) {
  const servers = await Promise.all(answers.map((tokens) => serve(tokens, 0)));
  const [small, large] = servers.map(({ url }) => taker(url)) as [
    ReturnType<Taker>,
    ReturnType<Taker>,
  ];
  const further = ((answers[1] - answers[0]) * tokenBytes) / 2 ** 20;
  const each = (how: Way) => async () => {
    const less = await small(how);
    const more = await large(how);
    return (more.grown - less.grown) / 2 ** 20 / further;
  };
  const samples = await inTurn(7, each("bare"), each("thread"));
  for (const server of servers) server.stop();
  return samples;
}

/** A server in a process of its own, so that its time is not ours. */
export async function serve(tokens: number, perSecond: number) {
  const script = agentsFile("bench/paced-server.ts");
  const args = [process.execPath, script, String(tokens), String(perSecond)];
  const child = Bun.spawn(args, { stdout: "pipe" });
  const { value } = await child.stdout.getReader().read();
  const port = Number(new TextDecoder().decode(value));
  return { url: `http://127.0.0.1:${port}`, stop: () => child.kill() };
}

async function read(how: Way, args: string[]): Promise<Taken> {
  const child = Bun.spawn([process.execPath, agentsFile("bench/thread-child.ts"), how, ...args], {
    stdout: "pipe",
  });
  const taken = JSON.parse(await child.stdout.text()) as Taken;
  if (taken.length === 0) throw new Error(`${how}: nothing came`);
  return taken;
}
