import { expect, test } from "bun:test";
import { WAIT } from "../contract/contract.ts";
import { AttemptLog } from "./attempt-log.ts";

const ids = { loop: "1M81TTDK56ZV1", branch: "1M81TTDK56ZV2", pause: "1M81TTDK56ZV3" };

/**
 * Returns the log of a Pause in a Branch in a Loop up to its question. With `isEndedBefore` the worker's end comes
 * before the question's record.
 */
function paused(isEndedBefore = false): { log: AttemptLog; askedAt: number } {
  const log = new AttemptLog();
  const begin = (id: string, role: string, parent: string | null): void => {
    const payload = { role, parent };
    const timestamp = log.find(id)?.startedAt ?? 0;
    log.event({
      type: "attempt_start",
      attempt: id,
      stepID: null,
      seq: 1,
      payload,
      timestamp,
    });
  };
  begin(ids.loop, "Loop_1", null);
  begin(ids.branch, "Branch_2", ids.loop);
  begin(ids.pause, "Pause_3", ids.branch);
  const askedAt = Date.parse("2100-01-01");
  const meta = { for: "pause" };
  if (isEndedBefore) log.close(null);
  log.step(1, { role: WAIT, content: "?", meta, attempt: ids.pause, timestamp: askedAt });
  return { log, askedAt };
}

const statuses = (log: AttemptLog): (string | undefined)[] =>
  Object.values(ids).map((id) => log.find(id)?.status);

test("the attempts around a question are parked when their worker has ended", () => {
  const { log } = paused();
  log.close(null);
  expect(statuses(log)).toEqual(["parked", "parked", "committed"]);
});

test("the attempts around a question are parked when its record comes after the end of the worker", () => {
  const { log } = paused(true);
  expect(statuses(log).slice(0, 2)).toEqual(["parked", "parked"]);
});

test("an attempt that continued after the answer is lost with its worker", () => {
  const { log, askedAt } = paused();
  const again = "again";
  log.event({
    type: "attempt_start",
    attempt: again,
    stepID: null,
    seq: 2,
    payload: { role: "Pause_3", parent: ids.branch },
    timestamp: askedAt + 1,
  });
  log.close(null);
  expect(statuses(log)).toEqual(["lost", "lost", "committed"]);
});
