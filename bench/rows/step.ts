import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { loadBundle } from "../../packages/workflow/src/bundle/store.ts";
import type { Durability } from "../../packages/workflow/src/control/control.ts";
import { engineOf } from "../engine.ts";
import { bareLoop, type Way } from "../baseline/loops.ts";
import { inTurn, type Sample } from "../measure.ts";
import { line, type Row } from "../row.ts";
import { makeStore, reported, type Store } from "../store.ts";

type Runner = (options: Record<string, unknown>) => Promise<void>;

/** One committed step: a thread in this process beside a loop that appends the same lines. */
export const step: Row = {
  name: "step",
  async measure(folder) {
    const store = await makeStore(folder);
    const synced = await compare(store, { durability: "step", way: "sync", count: 1000 });
    const unsynced = await compare(store, { durability: "os", way: "none", count: 20_000 });
    return [
      line(
        {
          what: "one committed step",
          unit: "µs",
          against: "write + fdatasync",
          target: { ratio: 1.3 },
        },
        synced,
      ),
      line(
        {
          what: "one step, --durability os",
          unit: "µs",
          against: "a bare append",
          target: { ratio: 3 },
        },
        unsynced,
      ),
    ];
  },
};

type Compared = { durability: Durability; way: Way; count: number };

async function compare(
  store: Store,
  { durability, way, count }: Compared,
): Promise<[Sample, Sample]> {
  const engine = engineOf(store);
  const { run } = await loadBundle(store.root, store.hash);
  const bare = mkdtempSync(join(store.folder, "bare-"));
  const log = join(bare, "log.jsonl");
  const ours: Runner = (options) => engine.run(options, durability);
  const baseline: Runner = async (options) => {
    await bareLoop(run, options, log, way);
    rmSync(log);
  };
  const each = (runner: Runner) => () => microsecondsAStep(runner, bare, count);
  await inTurn(2, each(baseline), each(ours));
  return inTurn(15, each(baseline), each(ours));
}

async function microsecondsAStep(runner: Runner, folder: string, count: number): Promise<number> {
  const report = join(folder, "report.json");
  await runner({ count, report });
  const { began, ended } = await reported(report);
  return ((ended - began) * 1000) / count;
}
