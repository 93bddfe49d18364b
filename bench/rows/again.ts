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
import { settled } from "../../packages/workflow/src/host.ts";
import { dataPath } from "../../packages/workflow/src/storage/paths.ts";
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
/** Characters of a step: about what a model answers. */
const size = 1000;
const times = 15;
const target = { ratio: 2 };
const against = "reading and writing its file";

type Source = Store & { threadId: string; report: string };

/** Fork and resume of a thread of 10,000 steps in a live worker, each until its next step is committed. */
export const again: Row = {
  name: "again",
  async measure(folder) {
    const source = await makeSource(folder);
    const baseline = () => timed(() => readAndWrite(source));
    const forks = await inTurn(times, baseline, () => fork(source));
    const resumes = await inTurn(times, baseline, () => resume(source));
    return [
      line({ what: "fork at step 10,000", unit: "ms", against, target }, forks),
      line({ what: "resume at step 10,000", unit: "ms", against, target }, resumes),
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

/** Resumes a copy of the source that has no end record: what a lost worker leaves behind. */
async function resume(source: Source): Promise<number> {
  const { host, root, hash } = source;
  const threadId = threadIdOf(Math.floor(now()));
  writeFileSync(dataPath(root, hash, threadId), unendedCopy(source, threadId), { mode: 0o600 });
  // What the copy has left behind is not collected while the resume runs.
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

/** When the thread's next step was committed. The thread is then removed. */
async function committed({ host, hash, report }: Source, threadId: string): Promise<number> {
  const { ended } = await reported(report);
  const ref = { hash, threadId };
  await settled(host, ref);
  await host.remove(ref, { force: true });
  return ended;
}
