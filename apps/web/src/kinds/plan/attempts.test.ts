import { expect, test } from "bun:test";
import { attemptsOf } from "./attempts.ts";

const record = (role: string, number: number, meta: Record<string, unknown>) => ({
  ...{ role, number, meta, content: "", timestamp: number * 1_000 },
});

test("the attempts of a step come from its records, with interruptions and delays", () => {
  const attempts = attemptsOf([
    record("look", 1, { event: "started", attempt: 1 }),
    record("report", 2, { event: "started", attempt: 1 }),
    record("look", 3, { event: "started", attempt: 1 }),
    record("look", 4, { event: "attempt_failed", attempt: 1, error: "no", delayMs: 500 }),
    record("look", 5, { event: "started", attempt: 2 }),
    record("look", 6, { event: "succeeded", attempt: 2 }),
    record("look", 7, { event: "constructor", attempt: 2 }),
    record("__wait__", 8, { for: "step_failure" }),
  ]);
  expect([...attempts.keys()]).toEqual(["look", "report"]);
  expect(attempts.get("look")).toEqual([
    {
      ...{ number: 1, state: "failed", startedAt: 1_000, endedAt: 4_000 },
      ...{ error: "no", nextAt: 4_500, interruptions: 1 },
    },
    {
      ...{ number: 2, state: "succeeded", startedAt: 5_000, endedAt: 6_000 },
      ...{ error: null, nextAt: null, interruptions: 0 },
    },
  ]);
  expect(attempts.get("report")?.[0]).toMatchObject({ state: "running", endedAt: null });
});
