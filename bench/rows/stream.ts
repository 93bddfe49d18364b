import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Taken } from "../../packages/workflow-agents/bench/thread-child.ts";
import { openLocalHost } from "../../packages/workflow/src/entry/host.ts";
import { sampleOf } from "../measure.ts";
import { line, type Row } from "../row.ts";

const rate = 2000;
const seconds = 5;

const agentsFile = (path: string): string =>
  fileURLToPath(new URL(`../../packages/workflow-agents/${path}`, import.meta.url));

/**
 * A model that streams 2,000 tokens a second to one thread: the processor time that the engine adds. The floor is the
 * processor time of the provider's client.
 */
export const stream: Row = {
  name: "stream",
  async measure({ folder }) {
    const root = mkdtempSync(join(folder, "root-"));
    const bundle = agentsFile("test/bundles/anthropic.ts");
    const { hash } = await openLocalHost({ path: root }).register("stream", bundle);
    const short = await startModel(200, 0);
    const paced = await startModel(rate * seconds, rate);
    const share = async (how: "bare" | "thread") => {
      const { cpuMs, wallMs } = await read(how, [short.url, paced.url, root, hash]);
      return (100 * cpuMs) / wallMs;
    };
    const bare: number[] = [];
    const added: number[] = [];
    try {
      for (let n = 0; n < 5; n += 1) {
        const floor = await share("bare");
        bare.push(floor);
        added.push((await share("thread")) - floor);
      }
    } finally {
      short.stop();
      paced.stop();
    }
    const texts = { what: "2,000 tokens a second, added", unit: "% of a core" };
    const samples = [sampleOf(bare), sampleOf(added)] satisfies [unknown, unknown];
    return [line({ ...texts, floorIs: "the provider's client", target: { most: 5 } }, samples)];
  },
};

/** Starts a model in a separate process, so that the measurement excludes its processor time. */
async function startModel(tokens: number, perSecond: number) {
  const script = agentsFile("bench/paced-server.ts");
  const args = [process.execPath, script, String(tokens), String(perSecond)];
  const child = Bun.spawn(args, { stdout: "pipe" });
  const { value } = await child.stdout.getReader().read();
  const port = Number(new TextDecoder().decode(value));
  return { url: `http://127.0.0.1:${port}`, stop: () => child.kill() };
}

async function read(how: string, args: string[]): Promise<Taken> {
  const child = Bun.spawn([process.execPath, agentsFile("bench/thread-child.ts"), how, ...args], {
    stdout: "pipe",
  });
  const taken = JSON.parse(await child.stdout.text()) as Taken;
  if (taken.length === 0) throw new Error(`${how}: the stream was empty`);
  return taken;
}
