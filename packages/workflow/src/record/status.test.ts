import { describe, expect, test } from "bun:test";
import type { Step } from "../contract/contract.ts";
import type { LiveStatus } from "../control/control.ts";
import type { EndReason, EndRecord } from "./record.ts";
import { isMoving, statuses, statusOf } from "./thread.ts";

const end = (reason: EndReason, returnCode: number): EndRecord => ({
  role: "__end__",
  content: "",
  meta: { reason, returnCode },
  timestamp: 1,
});
const step = (role: string): Step => ({ role, content: "", meta: {}, timestamp: 1 });
const open = { broken: null, end: null, last: step("a") };
const asking = { ...open, last: step("__wait__") };
const live = (status: LiveStatus) => ({ status, pid: 7 });
const lives = [live("running"), live("paused"), live("waiting"), null];

describe("a thread's status", () => {
  const ends: [EndReason, number, string][] = [
    ["returned", 0, "completed"],
    ["returned", 3, "failed"],
    ["maxRounds", 0, "completed"],
    ["killed", 143, "killed"],
    ["failed", 1, "failed"],
  ];
  for (const [reason, code, status] of ends) {
    test(`is ${status} when it ended by ${reason} with ${code}, whatever a worker reports`, () => {
      for (const worker of lives) {
        expect(statusOf({ ...open, end: end(reason, code) }, worker)).toEqual({
          status: status as "completed",
          result: {
            ...{ returnCode: code, summary: "" },
            ...(reason === "maxRounds" && { reason }),
          },
          ...(status === "failed" && { error: null }),
        });
      }
    });
  }

  test("is corrupt when its log is broken, whatever its worker reports", () => {
    const broken = { line: 2, offset: 10, reason: "" };
    for (const worker of lives) {
      const facts = { broken, end: end("returned", 0), last: null };
      expect(statusOf(facts, worker)).toEqual({ status: "corrupt", broken });
    }
  });

  test("comes from its live worker", () => {
    expect(statusOf(open, live("paused"))).toEqual({ status: "paused", pid: 7 });
    expect(statusOf(asking, live("running"))).toEqual({ status: "running", pid: 7 });
    const waiting = { status: "waiting", question: asking.last, pid: 7 } as const;
    expect(statusOf(asking, live("waiting"))).toEqual(waiting);
  });

  test("without a worker is waiting after a question, otherwise interrupted", () => {
    const waiting = { status: "waiting", question: asking.last, pid: null } as const;
    expect(statusOf(asking, null)).toEqual(waiting);
    expect(statusOf(open, null)).toEqual({ status: "interrupted" });
    expect(statusOf({ ...open, last: null }, null)).toEqual({ status: "interrupted" });
  });

  test("is moving only when it is running or paused", () => {
    expect(statuses.filter(isMoving)).toEqual(["running", "paused"]);
  });
});
