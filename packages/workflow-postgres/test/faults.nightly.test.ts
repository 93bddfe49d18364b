import { describe, expect, test } from "bun:test";
import { runFaults } from "./faults/faults.ts";
import { missingPostgres } from "./fixtures/server.ts";

/* `FAULTS=300 FAULT_SEED=7` runs more faults, or the same again. */
const { FAULTS = "80", FAULT_SEED = String(Date.now() % 1_000_000) } = process.env;

describe.skipIf(missingPostgres !== "")(`a database with a replica${missingPostgres}`, () => {
  test(`faults at random moments lose, double and repeat no committed step: FAULTS=${FAULTS} FAULT_SEED=${FAULT_SEED}`, async () => {
    const report = await runFaults({ faults: Number(FAULTS), seed: Number(FAULT_SEED) });
    expect(report.violations).toEqual([]);
  }, 3_600_000);
});
