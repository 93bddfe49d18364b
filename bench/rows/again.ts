import {
  closeSync,
  fdatasyncSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { settled } from "../../packages/workflow/src/entry/host.ts";
import { dataPath } from "../../packages/workflow/src/disk/paths.ts";
import { inTurn, now, timed } from "../measure.ts";
import { line, type Row } from "../row.ts";
import {
  firstSteps,
  makeStore,
  reported,
  setIdle,
  start,
  type Store,
  threadIdOf,
} from "../store.ts";

const count = 10_000;
/** Characters per step, about the length of a model's answer. */
const size = 1000;
const times = 15;

type Source = Store & { threadId: string; report: string };

/**
 * Fork and resume of a thread of 10,000 steps of 1,000 characters in a live worker: from the call until the next step
 * is committed. The floor reads the file of the log, and writes and syncs a copy.
 */
export const again: Row = {
  name: "again",
  async measure({ folder }) {
    const source = await makeSource(folder);
    const copy = () => timed(() => readAndWrite(source));
    const forks = await inTurn(times, copy, () => fork(source));
    const resumes = await inTurn(times, copy, () => resume(source));
    const texts = { unit: "ms", floorIs: "reading and writing the file", target: { ratio: 2.5 } };
    return [
      line({ ...texts, what: "fork at step 10,000" }, forks),
      line({ ...texts, what: "resume at step 10,000" }, resumes),
    ];
  },
};

async function makeSource(folder: string): Promise<Source> {
  const store = await makeStore(folder);
  setIdle(60_000);
  const report = join(store.folder, "report.json");
  const threadId = await start(store, { count: count + 1, size, report }, count);
  await settled(store.host, { hash: store.hash, threadId });
  return { ...store, threadId, report };
}

function readAndWrite({ root, hash, threadId, folder }: Source): void {
  const copy = join(folder, "copy.jsonl");
  const fd = openSync(copy, "wx", 0o600);
  writeSync(fd, readFileSync(dataPath(root, hash, threadId)));
  fdatasyncSync(fd);
  closeSync(fd);
  rmSync(copy);
}

async function fork(source: Source): Promise<number> {
  const { host, hash, threadId } = source;
  const keep = { atStep: count };
  const began = now();
  const forked = await host.fork({ hash, threadId }, { env: {}, keep, maxRounds: count + 10 });
  return (await committed(source, forked.threadId)) - began;
}

/** Resumes a copy of the source without an end record, like the log of a lost worker. */
async function resume(source: Source): Promise<number> {
  const { host, root, hash } = source;
  const threadId = threadIdOf(Math.floor(now()));
  writeFileSync(dataPath(root, hash, threadId), unendedCopy(source, threadId), { mode: 0o600 });
  // Collect the copy's garbage before the measurement.
  Bun.gc(true);
  const began = now();
  await host.control({ hash, threadId }, { kind: "resume", env: {} });
  return (await committed(source, threadId)) - began;
}

function unendedCopy({ root, hash, threadId }: Source, as: string): string {
  const log = readFileSync(dataPath(root, hash, threadId), "utf8");
  return firstSteps(log, count, (record) => {
    record.threadId = as;
    record.parameters.options.maxRounds = count + 10;
  });
}

/** Returns the time of the thread's next commit, in milliseconds on the shared clock. Deletes the thread. */
async function committed({ host, hash, report }: Source, threadId: string): Promise<number> {
  const { ended } = await reported(report);
  const ref = { hash, threadId };
  await settled(host, ref);
  await host.remove(ref, { force: true });
  return ended;
}
