import { expect, test } from "bun:test";
import { foldRun } from "../src/entry/run.ts";
import { generatedGraph } from "./generated/graphs.ts";
import { isEach, type Outcome, runGenerated, runsIn, twiceIn } from "./generated/run.ts";

const graphs = process.env.TEST_CASES === "all" ? 1000 : 250;

test(`${graphs} generated graphs follow the format, undisturbed and repeatedly killed`, async () => {
  const seen = { completed: 0, rounds: 0, resumed: 0, loops: 0, joins: 0, waits: 0, same: 0 };
  for (let seed = 1; seed <= graphs; seed += 1) {
    const document = generatedGraph(seed);
    const outcomes: Outcome[] = [];
    for (const kills of [false, true]) {
      const outcome = await runGenerated(document, seed * 2 + Number(kills), { kills }).catch(
        (cause: unknown) => {
          throw new Error(`graph ${seed}: ${(cause as Error).message}`, { cause });
        },
      );
      outcomes.push(outcome);
      const { end, oracle, resumed, steps } = outcome;
      const runs = steps.map(({ meta, role }) => `${role} ${String(meta.run)}`);
      expect({ seed, twice: twiceIn(steps) }).toEqual({ seed, twice: 0 });
      if (end === "completed")
        expect({ seed, isDone: oracle.isDone }).toEqual({ seed, isDone: true });
      const keys = Object.keys(foldRun(document, { steps }).state);
      const left = end === "completed" ? keys.filter((key) => /^__.*__$/.test(key)) : [];
      expect({ seed, left }).toEqual({ seed, left: [] });
      seen[end] += 1;
      seen.resumed += resumed;
      seen.loops += Number(steps.some(({ meta }) => Number(meta.run) > 1));
      seen.joins += Number(steps.some(({ meta }) => (meta.arrivals as unknown[])?.length > 1));
      seen.waits += Number(runs.some((run) => run.startsWith("__wait__")));
    }
    const [calm, killed] = outcomes as [Outcome, Outcome];
    if (calm.end === "rounds" || killed.end === "rounds" || isEach(seed)) continue;
    if (calm.oracle.wasBroken || killed.oracle.wasBroken) continue;
    expect({ seed, runs: runsIn(killed.steps) }).toEqual({ seed, runs: runsIn(calm.steps) });
    seen.same += 1;
  }
  // The test is meaningful only if each kind occurs often enough.
  for (const [what, count] of Object.entries(seen)) {
    expect({ what, isEnough: count > graphs / 4 }).toEqual({ what, isEnough: true });
  }
}, 300_000);
