import { expect, test } from "bun:test";
import { keptByRetry, PlanState } from "../src/entry/index.ts";
import { generatedPlan } from "./generated/plans.ts";
import { runGenerated } from "./generated/run.ts";

const plans = process.env.TEST_CASES === "all" ? 2000 : 400;

test(`${plans} generated plans run as the protocol requires, undisturbed and with repeated kills`, async () => {
  const seen = {
    succeeded: 0,
    failed: 0,
    resumed: 0,
    retried: 0,
    asked: 0,
    skipped: 0,
    cancelled: 0,
    same: 0,
  };
  for (let seed = 1; seed <= plans; seed += 1) {
    const definition = generatedPlan(seed);
    const ends: string[] = [];
    for (const kills of [false, true]) {
      const outcome = await runGenerated(seed, definition, { kills }).catch((cause: unknown) => {
        throw new Error(`plan ${seed}: ${(cause as Error).message}`, { cause });
      });
      const { oracle, result, resumed, steps } = outcome;
      const { states } = oracle;
      expect({ seed, isDone: oracle.isDone }).toEqual({ seed, isDone: true });
      const isGood = Object.values(states).every((state) => state === "succeeded");
      expect({ seed, code: result.returnCode }).toEqual({ seed, code: isGood ? 0 : 1 });
      if (!isGood) expect(result.summary).toStartWith(`step ${oracle.firstFailed} failed: `);
      const twice = steps.filter(({ meta }) => meta.event === "succeeded").map(({ role }) => role);
      expect({ seed, twice: twice.length - new Set(twice).size }).toEqual({ seed, twice: 0 });
      const count = (event: string) => steps.filter(({ meta }) => meta.event === event).length;
      seen[isGood ? "succeeded" : "failed"] += 1;
      seen.resumed += resumed;
      seen.retried += count("attempt_failed");
      seen.asked += steps.filter(({ role }) => role === "__wait__").length;
      seen.skipped += count("skipped");
      seen.cancelled += steps.filter(({ meta }) => meta.cancelled === true).length;
      ends.push(JSON.stringify(states));
      const kept = keptByRetry(steps).map((number) => steps[number]);
      const retried = new PlanState(definition);
      for (const one of kept) if (one) retried.apply(one);
      const left = retried.steps.filter(({ status }) => status !== "pending");
      expect(left.every(({ status }) => status === "succeeded")).toBe(true);
      expect(left.length).toBe(twice.length);
    }
    if (ends[0] === ends[1]) seen.same += 1;
  }
  // The test is meaningful only if each event occurs often enough.
  for (const [what, count] of Object.entries(seen)) {
    expect({ what, isEnough: count > plans / 50 }).toEqual({ what, isEnough: true });
  }
}, 180_000);
