import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { Engine } from "../../packages/workflow-steps/src/engine/engine.ts";
import { inTurn, now, sampleOf, timed } from "../measure.ts";
import { line, type Line, type Row } from "../row.ts";
import { makeStore, type Store } from "../store.ts";
import { counting, roundsOf } from "../steps/documents.ts";
import { iterations, loopThreads } from "../steps/loop-thread.ts";

const part = 500;
const times = 5;

/** `from` is where the iterations start with which the last ones are compared. */
type Body = { what: string; out: Record<string, unknown>; from: number };

// Events show a value whole up to 10 KB: the first iterations of what grows pay for that, and more.
const bodies: Body[] = [
  { what: "sets a number", out: { $sum: "=_index" }, from: 0 },
  { what: "adds to a list", out: { "$list[_index]": "=_item" }, from: 1000 },
  { what: "adds a key", out: { "$object.{_item}": "=_index" }, from: 1000 },
];

/** A loop of 10,000 iterations: whether one pays for those before it, and what it is beside the disk. */
export const iterationsRow: Row = {
  name: "iterations",
  async measure(folder) {
    const store = await makeStore(folder);
    const lines: Line[] = [];
    for (const body of bodies) lines.push(await grown(store, body));
    return [...lines, await checkpoints(), await synced(store)];
  },
};

/** The last iterations beside the first. Not synced: the disk would hide it. */
function grown(store: Store, { what, out, from }: Body): Promise<Line> {
  const loop = loopThreads(store, out);
  return growth(`the last 500 iterations, it ${what}`, from, async () => {
    await loop.run("os");
    return loop.began;
  });
}

/** The same in a program of one's own that takes a checkpoint after each; the state stays as large. */
function checkpoints(): Promise<Line> {
  const began: number[] = [];
  const engine = new Engine(roundsOf(counting, iterations), {
    onCheckpoint: () => void began.push(now()),
  });
  return growth("the last 500 with onCheckpoint", 0, async () => {
    began.length = 0;
    await engine.execute();
    return began;
  });
}

async function growth(what: string, from: number, run: () => Promise<number[]>): Promise<Line> {
  const first: number[] = [];
  const last: number[] = [];
  for (let n = 0; n < times + 2; n += 1) {
    const began = await run();
    first.push(meanOf(began, from));
    last.push(meanOf(began, iterations - part - 1));
  }
  // The first threads warm up what the others run.
  const [baseline, ours] = [sampleOf(first.slice(2)), sampleOf(last.slice(2))];
  const against = from === 0 ? "the first 500" : `500 from the ${from}th`;
  return line({ what, unit: "µs", against, target: { ratio: 1.15 } }, [baseline, ours]);
}

const meanOf = (began: number[], from: number): number =>
  (((began[from + part] ?? 0) - (began[from] ?? 0)) * 1000) / part;

/** A committed iteration beside the same bytes, written and synced. */
async function synced(store: Store): Promise<Line> {
  const loop = loopThreads(store, bodies[0]?.out ?? {});
  const lines = (await loop.run("os")).map((text) => `${text}\n`);
  const perIteration = (ms: number): number => (ms * 1000) / iterations;
  const samples = await inTurn(
    3,
    async () => perIteration(await timed(() => append(store, lines))),
    async () => {
      await loop.run("step");
      return perIteration((loop.began.at(-1) ?? 0) - (loop.began[0] ?? 0));
    },
  );
  const what = "one committed iteration";
  const against = "write + fdatasync";
  return line({ what, unit: "µs", against, target: { ratio: 1.3 } }, samples);
}

function append(store: Store, lines: string[]): void {
  const path = join(store.folder, "bare.jsonl");
  const fd = openSync(path, "wx", 0o600);
  for (const text of lines) {
    writeSync(fd, text);
    fdatasyncSync(fd);
  }
  closeSync(fd);
  rmSync(path);
}
