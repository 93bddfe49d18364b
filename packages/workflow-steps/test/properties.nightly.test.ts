import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Step } from "@uncaged/workflow";
import fc from "fast-check";
import { validate } from "../src/check/check.ts";
import type { Checkpoint } from "../src/state/checkpoint.ts";
import { generatedWorkflows } from "./generated/workflows.ts";
import type { Generated } from "./generated/draft.ts";
import { runEngine } from "./generated/engine.ts";
import { countsOf, endOf, foldOf, runBundle } from "./generated/run.ts";

const workflows = process.env.TEST_CASES === "all" ? 1000 : 250;
const seed = 20_261;
// The maximum number of prefixes of a log to test, spread over the log.
const mostBeginnings = 6;

setDefaultTimeout(600_000);

/** Checks `runs` workflows. The error of a failure has the smallest failing workflow and the seed. */
const forAll = (
  property: (generated: Generated) => Promise<void>,
  { isCounting = true, runs = workflows } = {},
): Promise<void> =>
  fc.assert(fc.asyncProperty(generatedWorkflows(isCounting), property), { seed, numRuns: runs });

const overJson = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value;

/** Returns the numbers from 0 to `last`, or a sample if there are many. */
function spread(last: number, first: number): number[] {
  const stride = Math.max(1, (last + 1) / mostBeginnings);
  const count = Math.min(last + 1, mostBeginnings);
  return Array.from({ length: count }, (_, at) =>
    Math.min(last, Math.floor(at * stride + (first % stride))),
  );
}

describe("a thread stopped anywhere", () => {
  test("continues to the same end without repeating a committed step", () =>
    forAll(async (generated) => {
      const whole = await runBundle(generated);
      if (!generated.mayFail) expect(whole).toMatchObject({ status: "completed" });
      for (const kept of spread(whole.steps.length, generated.seed)) {
        const again = await runBundle(generated, whole.steps.slice(0, kept));
        // A Stop or a failure ends concurrent steps, whose progress depends on timing.
        if (generated.isTimed) expectNoneTwice(generated, again.steps);
        else {
          expect(again.status).toBe(whole.status);
          expect(countsOf(again.steps)).toEqual(countsOf(whole.steps));
          expect(endOf(generated, again.steps)).toEqual(endOf(generated, whole.steps));
        }
      }
    }));

  function expectNoneTwice({ hasCycles }: Generated, steps: readonly Step[]): void {
    if (hasCycles) return;
    expect(Object.entries(countsOf(steps)).filter(([, count]) => count > 1)).toEqual([]);
  }
});

describe("the fold of a thread's first steps", () => {
  let sideBySide = 0;
  let otherwiseOrdered = 0;

  test("is the checkpoint that an Engine reports at that step", () =>
    forAll(async (generated) => {
      const [{ steps }, { checkpoints }] = await Promise.all([
        runBundle(generated),
        runEngine(generated),
      ]);
      const folded = foldsOf(generated, steps);
      const given = checkpoints.map(({ checkpoint }) => comparable(generated, checkpoint));
      if (generated.isSerial) return expect(folded).toEqual(given);
      // The thread and the Engine may commit concurrent steps in different orders.
      sideBySide += 1;
      if (!Bun.deepEquals(folded, given)) otherwiseOrdered += 1;
    }));

  test("is the state in memory when no step is in flight", () =>
    forAll(
      async (generated) => {
        if (!generated.isSerial) return;
        const { checkpoints } = await runEngine(generated);
        for (const { checkpoint, snapshot } of checkpoints) {
          expect(snapshot.variables).toEqual(checkpoint.variables);
          expect(snapshot.artifacts).toEqual(Object.keys(checkpoint.artifacts));
        }
      },
      { runs: 300 },
    ));

  afterAll(() => {
    expect(sideBySide).toBeGreaterThan(workflows / 10);
    expect(otherwiseOrdered / sideBySide).toBeLessThan(0.1);
  });

  function foldsOf(generated: Generated, steps: readonly Step[]): object[] {
    return steps.flatMap(({ role }, at) =>
      role.startsWith("__") ? [] : comparable(generated, foldOf(generated, steps.slice(0, at + 1))),
    );
  }

  // The number of the last event includes events of steps in flight.
  function comparable({ isSerial }: Generated, checkpoint: Checkpoint): object {
    const copy: Record<string, unknown> = overJson(checkpoint);
    const own = ["createdAt", "workflowID", "threadId", "steps", "status"];
    for (const name of isSerial ? own : [...own, "eventSeq"]) delete copy[name];
    return copy;
  }
});

describe("an Engine", () => {
  test("continues from every checkpoint to the same variables", () =>
    // A checkpoint does not hold the progress of a chain inside a construct, so that chain runs again. Its steps must
    // not count their own writes, and a marked chain must not contain a BREAK.
    forAll(
      async (generated) => {
        const { checkpoints, context } = await runEngine(generated);
        const { variables, status } = context.snapshot();
        for (const at of spread(checkpoints.length - 1, generated.seed)) {
          const { checkpoint } = checkpoints[at] as (typeof checkpoints)[number];
          const again = await runEngine(generated, overJson(checkpoint));
          expect(again.events.map(({ seq }) => seq)).toEqual(
            again.events.map((_, index) => checkpoint.eventSeq + 1 + index),
          );
          if (generated.isTimed) continue;
          const end = again.context.snapshot();
          expect(end.variables).toEqual(variables);
          if (checkpoint.currentStepID !== "RETURN") expect(end.status).toBe(status);
        }
      },
      { isCounting: false },
    ));

  test("numbers its events without a gap and ends with a final event", () =>
    forAll(async (generated) => {
      const { events } = await runEngine(generated);
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, at) => at + 1));
      const ends = events.filter(({ type }) => /^workflow_(done|failed|cancelled)$/.test(type));
      expect(ends).toEqual(events.slice(-1));
    }));
});

describe("a generated workflow", () => {
  test("is valid, and survives JSON", () =>
    forAll(async ({ document, subflows }) => {
      for (const one of [document, ...Object.values(subflows)]) {
        const violations = validate(one, { customTypes: ["Custom"] });
        expect(violations.filter(({ severity }) => severity === "error")).toEqual([]);
        expect(overJson(one)).toEqual(one);
      }
    }));

  test("has commits that survive JSON and do not grow with the log", () =>
    forAll(async (generated) => {
      const { steps } = await runBundle(generated);
      const sizes = new Map<string, number[]>();
      for (const { role, meta } of steps) {
        expect(overJson(meta)).toEqual(meta);
        const { child: _child, outputs: _outputs, variables: _variables, ...rest } = meta;
        const place = `${role} ${String(meta.phase)} ${(meta.path as [] | undefined)?.length}`;
        const size = JSON.stringify(rest).length;
        sizes.set(place, [...(sizes.get(place) ?? []), size]);
      }
      for (const [place, own] of sizes) {
        expect([place, Math.max(...own) - Math.min(...own) < 300]).toEqual([place, true]);
      }
    }));
});
