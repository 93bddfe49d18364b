// @cluster: starts servers, and kills them and their workers
import { describe, expect, test } from "bun:test";
import { isWhole } from "../../workflow/test/fixtures/cases.ts";
import { type FaultOptions, type Kind, kinds, runFaults } from "./faults/faults.ts";
import { missingServer } from "./fixtures/server.ts";

/** Trials: each kind of fault once, then pairs of simultaneous faults. The whole run also uses three servers. */
const trials: Pick<FaultOptions, "faults" | "nodes">[] = isWhole
  ? [
      { nodes: 1, faults: 8 },
      { nodes: 3, faults: 5 },
    ]
  : [{ nodes: 1, faults: 4 }];

describe.skipIf(missingServer !== "").each(trials)(
  `with $nodes servers and three workers${missingServer}`,
  ({ nodes, faults }) => {
    test("random faults never lose, duplicate or repeat a committed step", async () => {
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
