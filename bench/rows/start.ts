import { rmSync } from "node:fs";
import { join } from "node:path";
import { bunArguments, type Built } from "../command.ts";
import { inTurn, now, type Sample } from "../measure.ts";
import { line, type Row } from "../row.ts";
import { bundlePath, makeStore, reported, setIdle, type Store, workerGone } from "../store.ts";

const times = 25;

/** From calling `run`, with no worker alive, to the first committed step: as npm installs it, and as one binary. */
export const start = (built: Built): Row => ({
  name: "start",
  async measure(folder) {
    const script = [process.execPath, ...bunArguments, join(built.baseline, "parent.js")];
    const binary = [join(built.baseline, "parent")];
    return [
      line(
        {
          what: "run to first committed step",
          unit: "ms",
          against: "a bare two-process script",
          target: { ratio: 2 },
        },
        await samplesOf(folder, built.command, script),
      ),
      line(
        {
          what: "the same, the standalone binary",
          unit: "ms",
          against: "the same script, compiled",
          target: { ratio: 1.5 },
        },
        await samplesOf(folder, built.standalone, binary),
      ),
    ];
  },
});

async function samplesOf(
  folder: string,
  command: string,
  bare: string[],
): Promise<[Sample, Sample]> {
  const store = await makeStore(folder);
  await store.host.register("bench", bundlePath);
  setIdle(150);
  const report = join(store.folder, "report.json");
  const log = join(store.folder, "bare.jsonl");
  const run = [command, "run", "bench", "--root", store.root, "--prompt", report];
  const baseline = async () => {
    const taken = await firstStep([...bare, bundlePath, log, report], report);
    rmSync(log);
    return taken;
  };
  const ours = () => oneRun(store, run, report);
  await inTurn(3, baseline, ours);
  return await inTurn(times, baseline, ours);
}

async function oneRun(store: Store, command: string[], report: string): Promise<number> {
  const taken = await firstStep(command, report);
  await workerGone(store);
  return taken;
}

/** The bundle itself notes when it is asked for the next step: the first is then committed. */
async function firstStep(command: string[], report: string): Promise<number> {
  const began = now();
  const child = Bun.spawn(command, {
    stdio: ["ignore", "ignore", "inherit"],
    // Without this a child does not see how long workers are to stay.
    env: process.env,
  });
  const { ended } = await reported(report);
  await child.exited;
  return ended - began;
}
