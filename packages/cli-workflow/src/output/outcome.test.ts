import { expect, test } from "bun:test";
import type { ThreadStatus, ThreadView } from "@uncaged/workflow/host";
import { outcomeExitCode, outcomeText, questionText, whatNext } from "./outcome.ts";
import { noPaint } from "./style.ts";

const ended = (status: "completed" | "failed" | "killed", returnCode: number): ThreadStatus => {
  const result = { returnCode, summary: "it is over" };
  return status === "failed" ? { status, result, error: null } : { status, result };
};

const stopped: ThreadStatus = {
  status: "completed",
  result: { returnCode: 0, summary: "stopped at 100 steps", reason: "maxRounds" },
};

const question = { role: "__wait__", content: "Go on?", meta: {}, timestamp: 1 };
const waiting: ThreadStatus = { status: "waiting", question, pid: null };

test("a thread's return code is the exit code", () => {
  expect(outcomeExitCode(ended("completed", 0))).toBe(0);
  expect(outcomeExitCode(ended("failed", 7))).toBe(7);
});

test("a return code that is not a valid exit code is 1, never 0", () => {
  for (const code of [256, -1, 1.5, 4096]) {
    expect(outcomeExitCode(ended("failed", code))).toBe(1);
  }
  expect(outcomeExitCode(ended("killed", 0))).toBe(1);
});

test("a waiting thread is neither completed nor failed", () => {
  expect(outcomeExitCode(waiting)).toBe(6);
});

test("a thread out of rounds is not completed", () => {
  expect(outcomeExitCode(stopped)).toBe(5);
});

test("a thread without a worker counts as failed", () => {
  expect(outcomeExitCode({ status: "interrupted" })).toBe(1);
});

test("the last line has the status, the return code and the summary", () => {
  expect(outcomeText(ended("failed", 7), { paint: noPaint, terminal: false, columns: 80 })).toBe(
    "failed (return code 7): it is over\n",
  );
  expect(outcomeText(waiting, { paint: noPaint, terminal: true, columns: 80 })).toBe(
    "? waiting: Go on?\n",
  );
});

test("the next action is a complete command", () => {
  const id = "01KQXKW18CT8G75T53R8F4G7YG";
  expect(whatNext(id, waiting)).toContain(`resume ${id} --input`);
  const approval = { ...question, meta: { for: "tool", tool: "deploy", input: {} } };
  expect(whatNext(id, { ...waiting, question: approval })).toBe(
    `approve it: uncaged-workflow resume ${id} --approve; or change it: --edit JSON; or refuse it: --refuse REASON`,
  );
  const schema = { properties: { decision: { enum: ["approve", "reject"] } } };
  const asked = { ...question, meta: { for: "approval", schema } };
  expect(whatNext(id, { ...waiting, question: asked })).toBe(
    `approve it: uncaged-workflow resume ${id} --approve; or reject it: uncaged-workflow resume ${id} --refuse REASON`,
  );
  expect(whatNext(id, ended("failed", 1))).toContain(`retry ${id} --on <name>`);
  const failure = { name: "Error", message: "down" };
  const caught = { role: "work", content: "down", meta: { __durable__: { failure } } };
  const viewOf = (error: object | null) =>
    ({
      ...ended("failed", 1),
      error,
      steps: [caught],
      workflow: "review",
    }) as unknown as ThreadView;
  const corrected = `continue on a corrected version: uncaged-workflow retry ${id} --on review`;
  const next = `continue in a new thread: uncaged-workflow retry ${id}; ${corrected}`;
  expect(whatNext(id, viewOf(null))).toBe(
    `repeat step 1, whose failure was caught: uncaged-workflow fork ${id} --at-step 0; ${next}`,
  );
  const badSleep = { name: "WorkflowError", code: "BAD_SLEEP", hint: "give a duration", step: 2 };
  expect(whatNext(id, viewOf(badSleep))).toBe(next);
  const diverged = { ...badSleep, code: "DIVERGED" };
  expect(whatNext(id, viewOf(diverged))).toBe(corrected);
  expect(whatNext(id, ended("completed", 0))).toBeNull();
  expect(whatNext(id, stopped)).toContain(`retry ${id} --max-rounds N`);
});

test("a question shows its deadline", () => {
  const asked = (meta: Record<string, unknown>) => questionText({ ...question, meta });
  expect(asked({ expiresAt: Date.UTC(2026, 4, 6, 12) })).toBe(
    "Go on? (until 2026-05-06T12:00:00.000Z)",
  );
  expect(asked({})).toBe("Go on?");
  expect(asked({ expiresAt: 1e300 })).toBe("Go on?");
});
