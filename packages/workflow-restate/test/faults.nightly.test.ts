// @cluster: it starts servers, and loses them and their workers.
import { describe, expect, test } from "bun:test";
import { isWhole } from "../../workflow/test/fixtures/cases.ts";
import { type FaultOptions, type Kind, kinds, runFaults } from "./faults/faults.ts";
import { missingServer } from "./fixtures/server.ts";

/** Each kind of fault once, and then two at once; with three servers where all cases are asked for. */
const trials: Pick<FaultOptions, "faults" | "nodes">[] = isWhole
  ? [
      { nodes: 1, faults: 8 },
      { nodes: 3, faults: 5 },
    ]
  : [{ nodes: 1, faults: 4 }];

describe.skipIf(missingServer !== "").each(trials)(
  `with $nodes servers and three workers${missingServer}`,
  ({ nodes, faults }) => {
    test("faults at random moments lose, double and repeat no committed step", async () => {
      const first: readonly Kind[] = [...kinds].slice(0, faults);
      const seed = Number(process.env.FAULT_SEED ?? nodes);
      const report = await runFaults({
        nodes,
        faults,
        first,
        seed,
        workers: 3,
        threads: 8,
        steps: 30,
      });
      expect(report.violations).toEqual([]);
    });
  },
);

/*
 * How soon others go on. A machine that has more to do than it can gives longer times, so the bounds are wide here; 2 s and
 * 15 s are held by `bun run crashtest --cluster --kinds kill --faults 60 --nodes 3`, and by the same with `freeze`.
 */
const measured: [Kind, number, 1 | 3][] = isWhole
  ? [
      ["kill", 6, 1],
      ["kill", 6, 3],
      ["freeze", 3, 3],
    ]
  : [["kill", 4, 1]];
const mostMs = { kill: 20_000, freeze: 40_000 } as Record<Kind, number>;

test.skipIf(missingServer !== "").each(measured)(
  `the threads of a worker that is lost by a %s, %i times, with %i servers, are taken over${missingServer}`,
  async (kind, faults, nodes) => {
    const report = await runFaults({
      ...{ nodes, faults, kinds: [kind], first: Array(faults).fill(kind), seed: faults },
      ...{ workers: 3, threads: 8, steps: 30, measures: true },
    });
    expect(report.violations).toEqual([]);
    const { alone = [], among = [] } = report.takeover[kind] ?? {};
    const times = [...alone, ...among].sort((a, b) => a - b);
    console.error(`${nodes} servers, ${kind}: ${times.join(" ")} ms`);
    expect(times.length).toBeGreaterThanOrEqual(faults);
    expect(times.at(-1)).toBeLessThan(mostMs[kind]);
  },
);
