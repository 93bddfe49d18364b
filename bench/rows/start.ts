import { join } from "node:path";
import { inTurn, now, timed } from "../measure.ts";
import { line, type Line, type Row } from "../row.ts";
import { bundlePath, makeStore, reported, setIdle, type Store, workerGone } from "../store.ts";

const times = 15;

/**
 * Time from calling `run`, with no live worker, until the first step is on the disk: with the command as npm installs
 * it, and with the standalone binary. The floor starts and ends a Bun without work.
 */
export const start: Row = {
  name: "start",
  async measure({ folder, command, binary }) {
    const store = await makeStore(folder);
    await store.host.register("bench", bundlePath);
    setIdle(150);
    const texts = { unit: "ms", floorIs: "`bun -e 0`", target: { most: 250 } };
    const programs = {
      "`run` to the first committed step": await command(),
      "the same, standalone binary": await binary(),
    };
    const lines: Line[] = [];
    for (const [what, path] of Object.entries(programs)) {
      const ours = () => firstStep(store, path);
      await inTurn(2, bare, ours);
      lines.push(line({ ...texts, what }, await inTurn(times, bare, ours)));
    }
    return lines;
  },
};

const bare = () => timed(() => Bun.spawn([process.execPath, "-e", "0"]).exited);

/** Measures the time until the request for the bundle's second step: the first step is committed then. */
async function firstStep(store: Store, command: string): Promise<number> {
  const report = join(store.folder, "report.json");
  const began = now();
  const child = Bun.spawn([command, "run", "bench", "--root", store.root, "--prompt", report], {
    stdio: ["ignore", "ignore", "pipe"],
    // Without this, the child would miss changes to the environment.
    env: process.env,
  });
  const { ended } = await reported(report);
  process.stderr.write(await new Response(child.stderr).text());
  await child.exited;
  await workerGone(store);
  return ended - began;
}
