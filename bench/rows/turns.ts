import { closeSync, fdatasyncSync, mkdtempSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openLocalHost, settled } from "../../packages/workflow/src/host.ts";
import { sampleOf } from "../measure.ts";
import { line, type Row } from "../row.ts";

const times = 9;
const some = 50;

/** What it takes to record the turns of a role, and whether it grows with their number. */
export const turns: Row = {
  name: "turns",
  async measure(folder) {
    const host = openLocalHost({ path: mkdtempSync(join(folder, "root-")) });
    const source = fileURLToPath(
      new URL("../../packages/workflow-agents/bench/turns.ts", import.meta.url),
    );
    const { hash } = await host.register("turns", source);
    let runs = 0;
    /** The milliseconds from each turn to the next one. */
    const read = async (prompt: "recorded" | "unrecorded"): Promise<number[]> => {
      const env = { RUN: String((runs += 1)) };
      const ref = await host.start({ workflow: hash, prompt, env, cwd: folder });
      const { steps } = await settled(host, ref);
      const moments = JSON.parse(steps[0]?.content ?? "[]") as number[];
      return moments.slice(1).map((moment, at) => moment - (moments[at] ?? moment));
    };
    for (const way of ["recorded", "unrecorded"] as const) await read(way);
    const [bare, ours, added, synced, first, last]: number[][] = [[], [], [], [], [], []];
    for (let n = 0; n < times; n += 1) {
      synced?.push(twoSynced(join(folder, "synced")));
      const without = mean(await read("unrecorded"));
      bare?.push(without);
      const each = await read("recorded");
      ours?.push(mean(each));
      added?.push(mean(each) - without);
      first?.push(mean(each.slice(0, some)));
      last?.push(mean(each.slice(-some)));
    }
    return [
      line(
        {
          what: "a turn with a tool call that are recorded",
          unit: "ms",
          against: "the same, not recorded",
          target: { most: 1 },
        },
        [sampleOf(bare ?? []), sampleOf(ours ?? [])],
      ),
      line(
        {
          what: "what recording adds to it",
          unit: "ms",
          against: "two times write + fdatasync",
          target: { most: 1 },
        },
        [sampleOf(synced ?? []), sampleOf(added ?? [])],
      ),
      line(
        {
          what: "the last 50 of 200 turns",
          unit: "ms",
          against: "the first 50",
          target: { ratio: 1.15 },
        },
        [sampleOf(first ?? []), sampleOf(last ?? [])],
      ),
    ];
  },
};

/** The milliseconds that it takes to append as much as a turn and its call do, and to sync it each time. */
function twoSynced(path: string): number {
  const entries = [500, 1500].map((length) => Buffer.alloc(length, "x"));
  const fd = openSync(path, "a");
  const began = performance.now();
  for (let n = 0; n < some; n += 1) {
    for (const entry of entries) {
      writeSync(fd, entry);
      fdatasyncSync(fd);
    }
  }
  const took = performance.now() - began;
  closeSync(fd);
  return took / some;
}

const mean = (figures: readonly number[]): number =>
  figures.reduce((sum, figure) => sum + figure, 0) / figures.length;
