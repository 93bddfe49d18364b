// @cluster: it starts servers, and loses them and their workers.
// @all-cases
import { describe, expect, test } from "bun:test";
import { missingServer } from "./fixtures/server.ts";
import { runFaults } from "./faults/faults.ts";

describe.skipIf(missingServer !== "").each([1, 3] as const)(
  `with %d servers and three workers${missingServer}`,
  (nodes) => {
    test("faults at random moments lose, double and repeat no committed step", async () => {
      const report = await runFaults({
        ...{ nodes, faults: 8, workers: 3, threads: 8, steps: 30 },
        seed: Number(process.env.FAULT_SEED ?? nodes),
      });
      expect(report.violations).toEqual([]);
    });
  },
);
