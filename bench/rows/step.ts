import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { loadBundle } from "../../packages/workflow/src/bundle/store.ts";
import { bareLoop } from "../baseline/loops.ts";
import { engineOf } from "../engine.ts";
import { inTurn } from "../measure.ts";
import { line, type Row } from "../row.ts";
import { makeStore, reported } from "../store.ts";

const count = 1000;

/**
 * A step of a thread of 1,000 steps, with all the work of a worker, but in this process. The floor is a loop
 * that appends and syncs the same lines.
 */
export const step: Row = {
  name: "step",
  async measure({ folder }) {
    const store = await makeStore(folder);
    const engine = engineOf(store);
    const { run } = await loadBundle(store.root, store.hash);
    const bare = mkdtempSync(join(store.folder, "bare-"));
    const log = join(bare, "log.jsonl");
    const report = join(bare, "report.json");
    const perStep = async (act: () => Promise<void>): Promise<number> => {
      await act();
      const { began, ended } = await reported(report);
      return ((ended - began) * 1000) / count;
    };
    const floor = () =>
      perStep(async () => {
        await bareLoop(run, { count, report }, log, "blocking");
        rmSync(log);
      });
    const ours = () => perStep(() => engine.run({ count, report }, "step"));
    await inTurn(2, floor, ours);
    const texts = { what: "one committed step", unit: "µs", floorIs: "write + fdatasync" };
    return [line({ ...texts, target: { ratio: 1.5 } }, await inTurn(15, floor, ours))];
  },
};
