import { describe, expect, test } from "bun:test";
import { runFaults } from "./faults/faults.ts";
import { missingPostgres } from "./fixtures/server.ts";

/* `FAULTS=300` sets the number of faults. `FAULT_SEED=7` repeats a sequence of faults. */
const { FAULTS = "80", FAULT_SEED = String(Date.now() % 1_000_000) } = process.env;

describe.skipIf(missingPostgres !== "")(`a database with a replica${missingPostgres}`, () => {
  test(`loses, duplicates and repeats no committed step when faults happen at random moments: FAULTS=${FAULTS} FAULT_SEED=${FAULT_SEED}`, async () => {
    const report = await runFaults({ faults: Number(FAULTS), seed: Number(FAULT_SEED) });
    expect(report.violations).toEqual([]);
  }, 3_600_000);
});
