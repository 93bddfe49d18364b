import { syncedWays } from "../baseline/loops.ts";
import { inScript, inWorker, type Load, perStep } from "../load.ts";
import { inTurn, sampleOf } from "../measure.ts";
import { line, type Row } from "../row.ts";
import { makeStore, setIdle, type Store, workerGone } from "../store.ts";

/** 100 threads in one worker, beside the best of three scripts that do the same bare. */
export const together: Row = {
  name: "together",
  async measure(folder) {
    const store = await makeStore(folder);
    setIdle(60_000);
    const load = { together: 100, count: 50 };
    const way = await bestWay(store, load);
    const samples = await inTurn(
      9,
      async () => perStep(load, await inScript(store, way, load)),
      async () => perStep(load, await inWorker(store, load)),
    );
    const what = "a step, 100 threads x 50 steps";
    const against = `100 bare loops (${way})`;
    return [line({ what, unit: "µs", against, target: { ratio: 1 } }, samples)];
  },
};

/** 1,000 threads at once in one worker: what each weighs, and whether they are slower than one. */
export const thousand: Row = {
  name: "thousand",
  async measure(folder) {
    const one = { together: 1, count: 1000 };
    const many = { together: 1000, count: 10 };
    const store = await makeStore(folder);
    setIdle(60_000);
    const speed = await inTurn(
      5,
      async () => perStep(one, await inWorker(store, one)),
      async () => perStep(many, await inWorker(store, many)),
    );
    const weight = await inTurn(
      5,
      () => weighScript(store, many),
      () => weighWorker(folder, many),
    );
    return [
      line(
        {
          what: "memory of a thread, 1,000 at once",
          unit: "KB",
          against: "a bare loop's",
          target: { most: 30 },
        },
        weight,
      ),
      line(
        {
          what: "a step, 1,000 threads at once",
          unit: "µs",
          against: "one thread alone",
          target: { ratio: 1 },
        },
        speed,
      ),
    ];
  },
};

const kilobytes = (heavy: number, light: number, threads: number): number =>
  (heavy - light) / threads / 1000;

/** A fresh worker each time: what a process once had it does not give back. */
async function weighWorker(folder: string, load: Load): Promise<number> {
  const store = await makeStore(folder);
  setIdle(300);
  const light = await inWorker(store, { together: 1, count: 1, weigh: true });
  const heavy = await inWorker(store, { ...load, weigh: true });
  await workerGone(store);
  return kilobytes(heavy.rss, light.rss, load.together);
}

async function weighScript(store: Store, load: Load): Promise<number> {
  const light = await inScript(store, "pool", { together: 1, count: 1, weigh: true });
  const heavy = await inScript(store, "pool", { ...load, weigh: true });
  return kilobytes(heavy.rss, light.rss, load.together);
}

async function bestWay(store: Store, load: Load) {
  const tried = [];
  for (const way of syncedWays) {
    const figures: number[] = [];
    for (let n = 0; n < 3; n += 1) figures.push(perStep(load, await inScript(store, way, load)));
    tried.push({ way, time: sampleOf(figures).median });
  }
  return tried.toSorted((a, b) => a.time - b.time)[0]?.way ?? "sync";
}
