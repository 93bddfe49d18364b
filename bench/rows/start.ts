import { rmSync } from "node:fs";
import { join } from "node:path";
import { bunArguments, type Built } from "../command.ts";
import { inTurn, now } from "../measure.ts";
import { line, type Row } from "../row.ts";
import { bundlePath, makeStore, reported, setIdle, type Store, workerGone } from "../store.ts";

const times = 25;

/** From calling `run`, with no worker alive, to the first committed step. */
export const start = (built: Built): Row => ({
  name: "start",
  async measure(folder) {
    const store = await makeStore(folder);
    await store.host.register("bench", bundlePath);
    setIdle(150);
    const report = join(store.folder, "report.json");
    const script = join(built.baseline, "parent.js");
    const log = join(store.folder, "bare.jsonl");
    const bare = [process.execPath, ...bunArguments, script, bundlePath, log, report];
    const run = [built.command, "run", "bench", "--root", store.root, "--prompt", report];
    const baseline = async () => {
      const taken = await firstStep(bare, report);
      rmSync(log);
      return taken;
    };
    const ours = () => oneRun(store, run, report);
    await inTurn(3, baseline, ours);
    const what = "run to first committed step";
    const against = "a bare two-process script";
    const samples = await inTurn(times, baseline, ours);
    return [line({ what, unit: "ms", against, target: { ratio: 2 } }, samples)];
  },
});

async function oneRun(store: Store, command: string[], report: string): Promise<number> {
  const taken = await firstStep(command, report);
  await workerGone(store);
  return taken;
}

/** The bundle itself notes when it is asked for the next step: the first is then committed. */
async function firstStep(command: string[], report: string): Promise<number> {
  const began = now();
  const child = Bun.spawn(command, { stdio: ["ignore", "ignore", "inherit"] });
  const { ended } = await reported(report);
  await child.exited;
  return ended - began;
}
