import { afterEach, describe, expect, jest, setSystemTime, test } from "bun:test";
import { INPUT, type RoleOutput, WAIT } from "@uncaged/workflow";
import { planBundle, type StepRequest } from "../src/entry/index.ts";
import { agentOf, eventsIn, plan, runPlan, statesIn, step } from "./parts.ts";

afterEach(() => {
  jest.useRealTimers();
  setSystemTime();
});

const d = (seconds: number) => ({ max_retries: 3, retry_delay_ms: seconds * 1000 });

/** Returns the start of each attempt of a failing step, in seconds, on a fake clock that advances only during waits. */
async function beginnings(seconds: number): Promise<number[]> {
  jest.useFakeTimers();
  const zero = Date.now();
  const at: number[] = [];
  const fail = async () => {
    at.push((Date.now() - zero) / 1000);
    throw new Error("busy");
  };
  const { run } = planBundle(plan([step("a")], d(seconds)), { agent: agentOf({ a: fail }) });
  const thread = run({ prompt: "", steps: [] }, { threadId: "t", maxRounds: 99 });
  let sent: RoleOutput | undefined;
  for (;;) {
    const next = thread.next(sent);
    const timed = await Promise.race([next, flushed()]);
    if (timed === null) jest.advanceTimersToNextTimer();
    const { done, value } = await next;
    if (done) return at;
    sent = undefined;
    if (value.role !== WAIT) continue;
    jest.advanceTimersByTime(Number(value.meta.expiresAt) - Date.now());
    sent = { role: INPUT, content: "", meta: { timedOut: true, sleep: true } };
  }
}

async function flushed(): Promise<null> {
  for (let turn = 0; turn < 100; turn += 1) await Promise.resolve();
  return null;
}

describe("a failing step", () => {
  test("is retried after one, two and four times the delay, even if the waits are sleeps", async () => {
    expect(await beginnings(1)).toEqual([0, 1, 3, 7]);
    jest.useRealTimers();
    expect(await beginnings(60)).toEqual([0, 60, 180, 420]);
    jest.useRealTimers();
    expect(await beginnings(3600)).toEqual([0, 3600, 7200, 10_800]);
  });

  test("gets its own session again, and no other step gets it", async () => {
    const asked: [string, number, string | null][] = [];
    const outcome = await runPlan(
      plan([step("a"), step("b", ["a"])], { max_retries: 2 }),
      Object.fromEntries(
        ["a", "b"].map((id) => [
          id,
          async ({ attempt, resume, stepId }: StepRequest, around) => {
            asked.push([stepId, attempt, resume]);
            around.onSession(`session-${stepId}-${attempt}`);
            if (attempt === 1) throw new Error("no");
            return { output: "" };
          },
        ]),
      ),
    );
    expect(outcome.status).toBe("completed");
    expect(asked).toEqual([
      ["a", 1, null],
      ["a", 2, "session-a-1"],
      ["b", 1, null],
      ["b", 2, "session-b-1"],
    ]);
    expect(outcome.steps[1]?.meta).toMatchObject({ sdkSessionId: "session-a-1", delayMs: 0 });
  });

  test("delays no other step while it waits", async () => {
    const { run } = planBundle(plan([step("a"), step("b")], d(5)), {
      agent: agentOf({ a: new Error("busy") }),
    });
    const thread = run({ prompt: "", steps: [] }, { threadId: "t", maxRounds: 99 });
    const seen: RoleOutput[] = [];
    while (seen.length < 4) seen.push((await thread.next()).value as RoleOutput);
    expect(statesIn(seen)).toEqual({ a: "attempt_failed", b: "succeeded" });
    void thread.return({ returnCode: 1, summary: "" });
  });
});

describe("an interrupted step", () => {
  const started = (attempt: number, sdkSessionId: string) => ({
    role: "a",
    content: "",
    meta: { event: "started", attempt, inputs: {}, sandbox: "off", sdkSessionId },
  });

  test("repeats the same attempt with its session, and its prompt mentions the interruption", async () => {
    const asked: StepRequest[] = [];
    const note = async (request: StepRequest) => {
      asked.push(request);
      return { output: "" };
    };
    const definition = plan([step("a")]);
    const outcome = await runPlan(definition, { a: note }, { steps: [started(1, "s1")] });
    expect(asked).toMatchObject([{ attempt: 1, resume: "s1" }]);
    expect(asked[0]?.prompt).toContain("was interrupted");
    expect(outcome.steps.map(({ meta }) => [meta.event, meta.attempt])).toEqual([
      ["started", 1],
      ["started", 1],
      ["succeeded", 1],
    ]);
  });

  test("fails the attempt after two interruptions", async () => {
    const steps = [started(1, "s1"), started(1, "s2")];
    const once = await runPlan(plan([step("a")]), {}, { steps });
    expect(eventsIn(once.steps).slice(2)).toEqual(["failed a"]);
    const again = await runPlan(plan([step("a")], { max_retries: 1 }), {}, { steps });
    expect(eventsIn(again.steps).slice(2)).toEqual([
      "attempt_failed a",
      "started a",
      "succeeded a",
    ]);
    expect(again.steps.at(-1)?.meta.attempt).toBe(2);
  });
});
