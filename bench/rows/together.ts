import { inScript, inWorker, type Load } from "../load.ts";
import { inTurn } from "../measure.ts";
import { line, type Row } from "../row.ts";
import { makeStore, type Report, setIdle, type Store, workerGone } from "../store.ts";

/**
 * The time of 100 threads of 50 steps in one worker, divided by the number of steps. The floor is 100 bare loops in one
 * process that sync on the runtime's thread pool. The target is 0.6 of the throughput of these loops.
 */
export const together: Row = {
  name: "together",
  async measure({ folder }) {
    const store = await makeStore(folder);
    setIdle(60_000);
    const load = { together: 100, count: 50 };
    const perStep = ({ began, ended }: Report) =>
      ((ended - began) * 1000) / load.together / load.count;
    const samples = await inTurn(
      7,
      async () => perStep(await inScript(store, load)),
      async () => perStep(await inWorker(store, load)),
    );
    const texts = { what: "a step, 100 threads × 50 steps", unit: "µs", floorIs: "100 bare loops" };
    return [line({ ...texts, target: { ratio: 1 / 0.6 } }, samples)];
  },
};

/**
 * Resident memory of a thread after a garbage collection: the difference between a worker with 1,000 threads before
 * their first step and the same worker with one thread, divided by the number of threads. The floor is the memory of a
 * bare loop.
 */
export const memory: Row = {
  name: "memory",
  async measure({ folder }) {
    const load = { together: 1000, count: 10 };
    const store = await makeStore(folder);
    const samples = await inTurn(
      5,
      () => weighScript(store, load),
      () => weighWorker(folder, load),
    );
    const texts = { what: "memory of a thread, 1,000 in one worker", unit: "KB" };
    return [line({ ...texts, floorIs: "a bare loop", target: { most: 30 } }, samples)];
  },
};

const one = { together: 1, count: 1, weigh: true };

const kilobytes = (heavy: Report, light: Report, threads: number): number =>
  (heavy.rss - light.rss) / threads / 1000;

/** Starts a new worker for each reading, because a process does not release memory. */
async function weighWorker(folder: string, load: Load): Promise<number> {
  const store = await makeStore(folder);
  setIdle(300);
  const light = await inWorker(store, one);
  const heavy = await inWorker(store, { ...load, weigh: true });
  await workerGone(store);
  return kilobytes(heavy, light, load.together);
}

async function weighScript(store: Store, load: Load): Promise<number> {
  const light = await inScript(store, one);
  const heavy = await inScript(store, { ...load, weigh: true });
  return kilobytes(heavy, light, load.together);
}
