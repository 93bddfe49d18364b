import { closeSync, fdatasyncSync, mkdtempSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openLocalHost, settled } from "../../packages/workflow/src/entry/host.ts";
import { inTurn } from "../measure.ts";
import { line, type Row } from "../row.ts";

const source = fileURLToPath(
  new URL("../../packages/workflow-agents/bench/turns.ts", import.meta.url),
);

/**
 * A role of 200 turns, each with a tool call, whose model answers at once: the time of a recorded turn minus the time
 * of an unrecorded turn. The floor appends and syncs two entries of that size.
 */
export const turns: Row = {
  name: "turns",
  async measure({ folder }) {
    const host = openLocalHost({ path: mkdtempSync(join(folder, "root-")) });
    const { hash } = await host.register("turns", source);
    let runs = 0;
    /** Returns the duration of a turn, in milliseconds. */
    const read = async (prompt: "recorded" | "unrecorded"): Promise<number> => {
      const env = { RUN: String((runs += 1)) };
      const ref = await host.start({ workflow: hash, prompt, env, cwd: folder });
      const { steps } = await settled(host, ref);
      const moments = JSON.parse(steps[0]?.content ?? "[]") as number[];
      return ((moments.at(-1) ?? Number.NaN) - (moments[0] ?? 0)) / (moments.length - 1);
    };
    for (const way of ["recorded", "unrecorded"] as const) await read(way);
    const samples = await inTurn(
      9,
      () => syncTwice(join(folder, "synced")),
      async () => {
        const without = await read("unrecorded");
        return (await read("recorded")) - without;
      },
    );
    const texts = { what: "recording a turn with a tool call", unit: "ms" };
    const floorIs = "2 × (write + fdatasync)";
    return [line({ ...texts, floorIs, target: { most: 1 } }, samples)];
  },
};

/** Returns the time to append and sync a turn and then the result of its call, in milliseconds. */
function syncTwice(path: string): number {
  const entries = [500, 1500].map((length) => Buffer.alloc(length, "x"));
  const times = 50;
  const fd = openSync(path, "a");
  const began = performance.now();
  for (let n = 0; n < times; n += 1) {
    for (const entry of entries) {
      writeSync(fd, entry);
      fdatasyncSync(fd);
    }
  }
  const took = performance.now() - began;
  closeSync(fd);
  return took / times;
}
