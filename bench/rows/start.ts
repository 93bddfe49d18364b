import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { bundlePath as storedPath } from "../../packages/workflow/src/storage/paths.ts";
import { bunArguments, type Built } from "../command.ts";
import { figuresOf, inTurn, now, type Sample, sampleOf } from "../measure.ts";
import { line, type Row } from "../row.ts";
import { bundlePath, makeStore, reported, setIdle, type Store, workerGone } from "../store.ts";

const times = 25;
const copies = 5;
const timesOfCopy = 8;

/** From calling `run`, with no worker alive, to the first committed step: as npm installs it, and as one binary. */
export const start = (built: Built): Row => ({
  name: "start",
  async measure(folder) {
    const store = await makeStore(folder);
    await store.host.register("bench", bundlePath);
    setIdle(150);
    const script = [process.execPath, ...bunArguments, join(built.baseline, "parent.js")];
    const [bare, ours] = takesOf(store, script, built.command);
    await inTurn(3, bare, ours);
    return [
      line(
        {
          what: "run to first committed step",
          unit: "ms",
          against: "a bare two-process script",
          target: { ratio: 2 },
        },
        await inTurn(times, bare, ours),
      ),
      line(
        {
          what: "the same, the standalone binary",
          unit: "ms",
          against: "the same script, compiled",
          target: { ratio: 1.5 },
        },
        await samplesOfBinaries(store, built),
      ),
    ];
  },
});

type Takes = [bare: () => Promise<number>, ours: () => Promise<number>];

/**
 * Of several copies of the binaries: a process begins up to a sixth later by how the system's cache holds its file, which
 * is decided when that is written, and seldom as well for one binary as for another.
 */
async function samplesOfBinaries(store: Store, built: Built): Promise<[Sample, Sample]> {
  const binaries = [
    join(built.baseline, "parent"),
    join(built.baseline, "child"),
    built.standalone,
  ];
  const all: [number[], number[]] = [[], []];
  for (let n = 0; n < copies; n += 1) {
    const folder = mkdtempSync(join(store.folder, "copy-"));
    const copied = binaries.map((path) => join(folder, basename(path)));
    binaries.forEach((path, at) => copyFileSync(path, copied[at] as string));
    const [parent, , command] = copied as [string, string, string];
    const takes = takesOf(store, [parent], command);
    await figuresOf(2, takes);
    const figures = await figuresOf(timesOfCopy, takes);
    all.forEach((some, at) => some.push(...(figures[at] as number[])));
    rmSync(folder, { recursive: true });
  }
  return [sampleOf(all[0]), sampleOf(all[1])];
}

function takesOf(store: Store, bare: string[], command: string): Takes {
  const report = join(store.folder, "report.json");
  const log = join(store.folder, "bare.jsonl");
  // Of one that lies deeper more folders are looked at before it is loaded.
  const bundle = storedPath(store.root, store.hash);
  const run = [command, "run", "bench", "--root", store.root, "--prompt", report];
  return [
    async () => {
      const taken = await firstStep([...bare, bundle, log, report], report);
      rmSync(log);
      return taken;
    },
    async () => {
      const taken = await firstStep(run, report);
      await workerGone(store);
      return taken;
    },
  ];
}

/**
 * The bundle itself notes when it is asked for the next step: the first is then committed. What is begun has ended when
 * this returns, but for a worker: to end a process takes time from the one that is measured next.
 */
async function firstStep(command: string[], report: string): Promise<number> {
  const began = now();
  const child = Bun.spawn(command, {
    stdio: ["ignore", "ignore", "pipe"],
    // Without this a child does not see how long workers are to stay.
    env: process.env,
  });
  const { ended } = await reported(report);
  // The bare child has the same one, so that it ends with the last of them.
  process.stderr.write(await new Response(child.stderr).text());
  await child.exited;
  return ended - began;
}
