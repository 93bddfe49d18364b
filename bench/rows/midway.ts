import { readFileSync, writeFileSync } from "node:fs";
import { dataPath } from "../../packages/workflow/src/storage/paths.ts";
import { inTurn, now, timed } from "../measure.ts";
import { line, type Row } from "../row.ts";
import { iterations, loopThreads } from "../steps/loop-thread.ts";
import { firstSteps, makeStore } from "../store.ts";

const middle = iterations / 2;
const times = 15;

type Loop = ReturnType<typeof loopThreads>;

/** A loop that a lost worker left in its middle: from the resume until the next step is committed. */
export const midway: Row = {
  name: "midway",
  async measure(folder) {
    const store = await makeStore(folder);
    const loop = loopThreads(store, { "$list[_index]": "=_item" });
    const threadId = await loop.engine.keep({ durability: "os", params: { items: loop.items } });
    const path = dataPath(store.root, store.hash, threadId);
    // With room for a few more steps: what comes then is not looked at.
    const log = firstSteps(readFileSync(path, "utf8"), middle, (start) => {
      start.parameters.options.maxRounds = middle + 10;
    });
    const baseline = () => timed(() => readAndParse(path));
    const ours = () => resume(loop, threadId, path, log);
    writeFileSync(path, log);
    await inTurn(2, baseline, ours);
    const samples = await inTurn(times, baseline, ours);
    const what = "resume at iteration 5,000 of 10,000";
    const against = "reading and parsing its file";
    return [line({ what, unit: "ms", against, target: { ratio: 2 } }, samples)];
  },
};

function readAndParse(path: string): unknown[] {
  return readFileSync(path, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((text): unknown => JSON.parse(text));
}

async function resume(loop: Loop, threadId: string, path: string, log: string): Promise<number> {
  loop.began.length = 0;
  const asked = now();
  const { after } = await loop.engine.resume(threadId);
  await after;
  writeFileSync(path, log);
  const first = loop.began.findIndex((at) => at > 0);
  if (first !== middle) throw new Error(`it went on at ${first}`);
  // The next iteration begins when the one before it is committed.
  return (loop.began[middle + 1] ?? Number.NaN) - asked;
}
