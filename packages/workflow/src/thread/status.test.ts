import { describe, expect, test } from "bun:test";
import type { LiveStatus } from "../control/control.ts";
import type { EndReason, EndRecord } from "../thread-log/record.ts";
import { isMoving, statusOf } from "./status.ts";
import { statuses } from "./thread.ts";

const end = (reason: EndReason, returnCode: number): EndRecord => ({
  role: "__end__",
  content: "",
  meta: { reason, returnCode },
  timestamp: 1,
});
const open = { broken: null, end: null, lastRole: "a" };
const lives: (LiveStatus | null)[] = ["running", "paused", "waiting", null];

describe("a thread's status", () => {
  const ends: [EndReason, number, string][] = [
    ["returned", 0, "completed"],
    ["returned", 3, "failed"],
    ["maxRounds", 0, "completed"],
    ["killed", 143, "killed"],
    ["failed", 1, "failed"],
  ];
  for (const [reason, code, status] of ends) {
    test(`is ${status} when it ended by ${reason} with ${code}, whatever a worker says`, () => {
      for (const live of lives) {
        expect<string>(statusOf({ ...open, end: end(reason, code) }, live)).toBe(status);
      }
    });
  }

  test("is corrupt when its log is broken, whatever else is said", () => {
    const broken = { line: 2, offset: 10, reason: "" };
    for (const live of lives) {
      expect(statusOf({ broken, end: end("returned", 0), lastRole: null }, live)).toBe("corrupt");
    }
  });

  test("is what its live worker says", () => {
    expect(statusOf(open, "paused")).toBe("paused");
    expect(statusOf({ ...open, lastRole: "__wait__" }, "running")).toBe("running");
  });

  test("without a worker is waiting after a question, and else interrupted", () => {
    expect(statusOf({ ...open, lastRole: "__wait__" }, null)).toBe("waiting");
    expect(statusOf(open, null)).toBe("interrupted");
    expect(statusOf({ ...open, lastRole: null }, null)).toBe("interrupted");
  });

  test("moves by itself only when it runs or is paused", () => {
    expect(statuses.filter(isMoving)).toEqual(["running", "paused"]);
  });
});
