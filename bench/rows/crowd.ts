import { mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openLocalHost, settled, type ThreadRef } from "../../packages/workflow/src/host.ts";
import { inTurn } from "../measure.ts";
import { line, type Row } from "../row.ts";
import { setIdle } from "../store.ts";
import { agentsFile, serve } from "./stream.ts";

const agents = 100;
const perSecond = 20;
const tokens = perSecond * 10;

/** 100 agents that stream at once, 20 tokens a second each, in one worker: the most memory that its process had. */
export const crowd: Row = {
  name: "crowd",
  async measure(folder) {
    setIdle(60_000);
    const paced = await serve(tokens, perSecond);
    const samples = await inTurn(
      5,
      () => ofClients(paced.url),
      () => ofWorker(folder, paced.url),
    );
    paced.stop();
    const what = `memory, ${agents} agents at once`;
    const against = "a process of bare clients";
    return [line({ what, unit: "MB", against, target: { most: 300 } }, samples)];
  },
};

async function ofClients(url: string): Promise<number> {
  const args = [agentsFile("bench/crowd-child.ts"), String(agents), url];
  const child = Bun.spawn([process.execPath, ...args], { stdout: "pipe" });
  return Number(await child.stdout.text()) / 1e6;
}

/** A fresh worker each time: what a process once had it does not give back. */
async function ofWorker(folder: string, url: string): Promise<number> {
  const host = openLocalHost({ path: mkdtempSync(join(folder, "root-")) });
  const { hash } = await host.register("crowd", agentsFile("test/bundles/anthropic.ts"));
  const env = { ANTHROPIC_API_KEY: "sk-bench-0123456789", ANTHROPIC_BASE_URL: url };
  const start = () => host.start({ workflow: hash, prompt: "go", cwd: folder, env });
  const refs: ThreadRef[] = await Promise.all(Array.from({ length: agents }, start));
  const ended = await Promise.all(refs.map((ref) => settled(host, ref)));
  const failed = ended.find(({ status }) => status !== "completed");
  if (failed) throw new Error(`a thread is ${failed.status}`);
  const [worker] = await host.workers();
  if (!worker?.pid) throw new Error("its worker has gone");
  const peak = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${worker.pid}/status`, "utf8"))?.[1];
  process.kill(worker.pid, "SIGTERM");
  return (Number(peak) * 1024) / 1e6;
}
