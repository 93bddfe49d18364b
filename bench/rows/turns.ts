import { mkdtempSync } from "node:fs";
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
    const [bare, ours, first, last]: number[][] = [[], [], [], []];
    for (let n = 0; n < times; n += 1) {
      bare?.push(mean(await read("unrecorded")));
      const each = await read("recorded");
      ours?.push(mean(each));
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

const mean = (figures: readonly number[]): number =>
  figures.reduce((sum, figure) => sum + figure, 0) / figures.length;
