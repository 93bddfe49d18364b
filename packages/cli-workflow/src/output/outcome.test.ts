import { expect, test } from "bun:test";
import type { Status } from "@uncaged/workflow/host";
import { noPaint } from "./style.ts";
import { outcomeExitCode, outcomeText, questionOf, whatNext } from "./outcome.ts";

const outcome = (status: Status, returnCode: number | null) => ({
  threadId: "01KQXKW18CT8G75T53R8F4G7YG",
  status,
  result: returnCode === null ? null : { returnCode, summary: "it is over" },
});

test("a thread's return code is the exit code", () => {
  expect(outcomeExitCode(outcome("completed", 0))).toBe(0);
  expect(outcomeExitCode(outcome("failed", 7))).toBe(7);
});

test("a return code that no process can have is 1, and never 0", () => {
  for (const code of [256, -1, 1.5, 4096]) {
    expect(outcomeExitCode(outcome("failed", code))).toBe(1);
  }
  expect(outcomeExitCode(outcome("killed", 0))).toBe(1);
});

test("a thread that waits is neither done nor failed", () => {
  expect(outcomeExitCode(outcome("waiting", null))).toBe(6);
});

test("a thread that nobody drives on has failed", () => {
  expect(outcomeExitCode(outcome("interrupted", null))).toBe(1);
  expect(outcomeExitCode(outcome("corrupt", null))).toBe(1);
});

test("the last line has the status, the return code and the summary", () => {
  expect(outcomeText(outcome("failed", 7), noPaint, false)).toBe(
    "failed (return code 7): it is over\n",
  );
  const waits = { ...outcome("waiting", null), question: "Go on?" };
  expect(outcomeText(waits, noPaint, true)).toBe("? waiting: Go on?\n");
});

test("what a person can do is a command to type", () => {
  expect(whatNext(outcome("waiting", null))).toContain("resume 01KQXKW18CT8G75T53R8F4G7YG --input");
  expect(whatNext(outcome("failed", 1))).toContain("retry");
  expect(whatNext(outcome("completed", 0))).toBeNull();
});

test("a question shows until when it can be answered", () => {
  const asked = (meta: Record<string, unknown>, role = "__wait__") =>
    questionOf({ role, content: "Go on?", meta, timestamp: 1 });
  expect(asked({ expiresAt: Date.UTC(2026, 4, 6, 12) })).toBe(
    "Go on? (until 2026-05-06T12:00:00.000Z)",
  );
  expect(asked({})).toBe("Go on?");
  expect(asked({ expiresAt: 1e300 })).toBe("Go on?");
  expect(asked({}, "coder")).toBeNull();
});
