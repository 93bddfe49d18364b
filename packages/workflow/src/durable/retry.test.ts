import { describe, expect, test } from "bun:test";
import { type RoleOutput, type Step, WAIT } from "../contract/contract.ts";
import { roles, run, runThread, summary } from "../testing/run-thread.ts";
import { replayEverywhere } from "../testing/replay-everywhere.ts";
import type { StepContext } from "./call.ts";
import { type DurableProgram, durable } from "./durable.ts";
import { StepFailure } from "./output.ts";
import type { StepOptions } from "./tries.ts";

/** Returns a program of one step that fails `failures` times, and counts its tries. */
function flaky(failures: number, options: StepOptions, error: unknown = new Error("busy")) {
  const tries: StepContext[] = [];
  const program: DurableProgram = async function* (step) {
    const work = (ctx: StepContext) => {
      tries.push(ctx);
      if (tries.length <= failures) throw error;
      return `after ${tries.length}`;
    };
    return yield* step("caller", work, options);
  };
  return { program, tries };
}

const at0 = { attempts: 5, backoff: 0 };
const note = ({ meta }: RoleOutput) => meta.__durable__ as Record<string, unknown>;

describe("a step with retry", () => {
  test("is retried until it succeeds, and each failed try is in the log", async () => {
    const { program } = flaky(2, { retry: at0 });
    const outcome = await run(program);
    expect(summary(outcome)).toBe("after 3");
    expect(roles(outcome)).toEqual(["caller", "caller", "caller"]);
    expect(outcome.steps.map(note)).toEqual([
      { failure: expect.anything(), retry: { try: 1, of: 5, delayMs: 0, at: expect.any(Number) } },
      { failure: expect.anything(), retry: { try: 2, of: 5, delayMs: 0, at: expect.any(Number) } },
      undefined as never,
    ]);
  });

  test("ends with its last error when all tries have failed, and does not log that error", async () => {
    const error = new RangeError("no model");
    const { program, tries } = flaky(9, { retry: { ...at0, attempts: 3 } }, error);
    const outcome = await run(program);
    expect("error" in outcome && outcome.error).toBe(error);
    expect(tries).toHaveLength(3);
    expect(roles(outcome)).toEqual(["caller", "caller"]);
  });

  test("continues to count after a crash, and restarts the count in a fork", async () => {
    const options = { retry: { ...at0, attempts: 3 } };
    const { steps } = await run(flaky(9, options).program);
    const resumed = flaky(9, options);
    await run(resumed.program, { steps });
    expect(resumed.tries).toHaveLength(1);
    const forked = flaky(9, options);
    await run(forked.program, { steps, options: { forkFrom: { threadId: "A", steps: 2 } } });
    expect(forked.tries).toHaveLength(3);
  });

  test("sees only the log before the step in each try", async () => {
    const seen: number[] = [];
    const program: DurableProgram = async function* (step) {
      yield* step("a", () => "a");
      const work = ({ steps }: StepContext) => {
        seen.push(steps.length);
        throw new Error("no");
      };
      yield* step("b", work, { retry: at0 });
      return "";
    };
    await run(program);
    expect(seen).toEqual([1, 1, 1, 1, 1]);
  });

  test("waits longer each time, up to maxDelay; the time of the next try is in the log", async () => {
    const { program } = flaky(9, { retry: { attempts: 6, backoff: "1h", maxDelay: "5h" } });
    const { steps } = await run(program);
    expect(steps.filter(({ role }) => role === WAIT).map(({ content }) => content)).toEqual(
      [2, 3, 4, 5, 6].map((n) =>
        expect.stringContaining(`try ${n} of 6 of caller; sleeping until 20`),
      ),
    );
    const hours = steps
      .filter(({ role }) => role === "caller")
      .map((step) =>
        Math.round(((note(step).retry as { at: number }).at - step.timestamp) / 3.6e6),
      );
    expect(hours).toEqual([1, 2, 4, 5, 5]);
  });

  test("sleeps through a long backoff, until the same time after a crash", async () => {
    const options = { retry: { attempts: 2, backoff: "1h" } };
    const { steps } = await run(flaky(9, options).program);
    expect(steps.map(({ role }) => role)).toEqual(["caller", WAIT, "__input__"]);
    const thread = durable(flaky(9, options).program)(
      { prompt: "", steps: steps.slice(0, 1) },
      { threadId: "t", maxRounds: 9 },
    );
    const next = await thread.next();
    expect((next.value as Step).meta).toMatchObject(steps[1]?.meta ?? {});
  });

  test("ends a short backoff and stops retrying when the thread is killed", async () => {
    const abort = new AbortController();
    const { program, tries } = flaky(9, { retry: { attempts: 5, backoff: "9s" } });
    const thread = durable(program)(
      { prompt: "", steps: [] },
      { threadId: "t", maxRounds: 9, signal: abort.signal },
    );
    await thread.next();
    const next = thread.next().catch((error: unknown) => error);
    abort.abort(new Error("killed"));
    expect(String(await next)).toBe("Error: killed");
    expect(tries).toHaveLength(1);
  });

  test("is not retried for permanent errors, or errors that `on` excludes", async () => {
    const coded = (code: string) => Object.assign(new Error("no"), { code });
    const triesOf = async (error: unknown, on?: string[] | ((failure: StepFailure) => boolean)) => {
      const { program, tries } = flaky(9, { retry: { ...at0, on } }, error);
      await run(program);
      return tries.length;
    };
    expect(await triesOf(Object.assign(new Error("no"), { retryable: false }))).toBe(1);
    expect(await triesOf(coded("BUDGET_EXCEEDED"))).toBe(1);
    expect(await triesOf(coded("BUSY"), ["BUSY"])).toBe(5);
    expect(await triesOf(coded("DENIED"), ["BUSY"])).toBe(1);
    expect(await triesOf(new RangeError("no"), ["RangeError"])).toBe(5);
    class RateLimited extends Error {}
    expect(await triesOf(new RateLimited("no"), ["RateLimited"])).toBe(5);
    expect(await triesOf(new RateLimited("no"), ["Error"])).toBe(1);
    expect(await triesOf(coded("BUSY"), ({ code }) => code === "BUSY")).toBe(5);
    expect(await triesOf(coded("DENIED"), ({ code }) => code === "BUSY")).toBe(1);
  });

  test("whose work returns an unrecordable value is not retried", async () => {
    let calls = 0;
    const program: DurableProgram = async function* (step) {
      yield* step("a", () => ((calls += 1), 1n as never), { retry: at0 });
      return "";
    };
    expect(await run(program)).toMatchObject({
      status: "failed",
      error: { code: "BAD_STEP_VALUE" },
    });
    expect(calls).toBe(1);
  });
});

describe("step.all with retry", () => {
  test("retries each member separately, and commits the other members meanwhile", async () => {
    const failed = new Map<string, number>();
    const flakyTimes =
      (times: number) =>
      ({ key }: StepContext) => {
        const n = failed.get(key) ?? 0;
        failed.set(key, n + 1);
        if (n < times) throw new Error(`no ${n}`);
        return n;
      };
    const program: DurableProgram = async function* (step) {
      const retry = { attempts: 3, backoff: 0 };
      const calls = [2, 0, 1].map((times) => step("part", flakyTimes(times), { retry }));
      return JSON.stringify(yield* step.all(calls));
    };
    const outcome = await run(program);
    expect(summary(outcome)).toBe("[2,0,1]");
    expect(outcome.steps).toHaveLength(6);
    expect([...failed.keys()].map((key) => key.split(":").slice(1).join())).toEqual([
      "part,1",
      "part,2",
      "part,3",
    ]);
    for (let cut = 0; cut <= 6; cut += 1) {
      const again = await run(program, { steps: outcome.steps.slice(0, cut) });
      expect("result" in again).toBe(true);
    }
  });

  test("sleeps only when no member is in flight, then continues with the failed members", async () => {
    const order: string[] = [];
    const failed = new Set<string>();
    const once = (name: string) => () => {
      order.push(name);
      if (failed.has(name)) return name;
      failed.add(name);
      throw new Error("busy");
    };
    const program: DurableProgram = async function* (step) {
      const retry = { attempts: 2, backoff: "1h" };
      const { a, b } = yield* step.all({
        a: step("a", once("a"), { retry }),
        b: step("b", async () => (await Bun.sleep(20), order.push("b"), "b")),
      });
      return `${a}${b}`;
    };
    const outcome = await run(program);
    expect(summary(outcome)).toBe("ab");
    expect(order).toEqual(["a", "b", "a"]);
    expect(roles(outcome)).toEqual(["a", "b", WAIT, "__input__", "a"]);
    failed.add("a");
    await replayEverywhere(durable(program), { steps: outcome.steps.slice(0, 4) });
    const from = await run(program, { steps: outcome.steps.slice(0, 3) });
    expect(roles(from)).toEqual(roles(outcome));
  });
});

describe("timeout", () => {
  test("aborts only the signal of the work, and is a failure with a code", async () => {
    let reason: unknown;
    let outer: AbortSignal | undefined;
    const program: DurableProgram = async function* (step, _, { signal }) {
      outer = signal;
      try {
        const work = ({ signal: own }: StepContext) =>
          new Promise((_resolve, reject) => {
            own.addEventListener("abort", () => reject((reason = own.reason)));
          });
        yield* step("slow", work, { timeout: 10 });
      } catch (error) {
        if (error instanceof StepFailure) return `${error.code}: ${error.message}`;
      }
      return "";
    };
    const expected = 'STEP_TIMEOUT: step "slow" took longer than 10 ms';
    expect(summary(await run(program))).toBe(expected);
    expect(String(reason)).toContain("took longer");
    expect(outer?.aborted).toBe(false);
  });

  test("does not wait for work that ignores the signal, and may be retried", async () => {
    let calls = 0;
    const program: DurableProgram = async function* (step) {
      const work = () => ((calls += 1), calls < 3 ? new Promise<string>(() => {}) : "done");
      const retry = { attempts: 3, backoff: 0, on: ["STEP_TIMEOUT"] };
      return yield* step("deaf", work, { timeout: 5, retry });
    };
    expect(summary(await run(program))).toBe("done");
    expect(calls).toBe(3);
  });
});

describe("invalid options", () => {
  const bad: [unknown, string][] = [
    [{ retry: { attempts: 0 } }, "invalid retry.attempts 0"],
    [{ retry: { attempts: 1e9 } }, "invalid retry.attempts 1000000000"],
    [{ retry: { attempts: "3" } }, "invalid retry.attempts 3"],
    [{ retry: 3 }, "retry is a number, not an object"],
    [{ retry: { attempts: 2, backoff: -1 } }, "invalid retry.backoff -1"],
    [{ retry: { attempts: 2, backoff: "soon" } }, 'invalid retry.backoff "soon"'],
    [{ retry: { attempts: 2, backoff: "2s", maxDelay: "1s" } }, "retry.maxDelay is shorter"],
    [{ retry: { attempts: 2, on: "BUSY" } }, "retry.on is a string"],
    [{ retry: { attempts: 2, tries: 3 } }, 'unknown key "tries" in retry'],
    [{ timeout: 0 }, "invalid timeout 0"],
    [{ timeout: "1w1w1w1w" }, 'invalid timeout "1w1w1w1w"'],
    [{ timout: 5 }, 'unknown key "timout" in options'],
    [null, "options is null, not an object"],
  ];
  for (const [options, message] of bad) {
    test(`end the thread before the step runs: ${message}`, async () => {
      const { program, tries } = flaky(0, options as StepOptions);
      const outcome = await run(program);
      expect(outcome).toMatchObject({ status: "failed", error: { code: "BAD_STEP_OPTIONS" } });
      expect("message" in outcome && outcome.message).toContain(`step "caller": ${message}`);
      expect(tries).toHaveLength(0);
      expect(outcome.steps).toEqual([]);
    });
  }
});

describe("ctx.key", () => {
  const keys = async (options?: Record<string, unknown>, steps: Step[] = []) => {
    const seen: string[] = [];
    const program: DurableProgram = async function* (step) {
      const pay = ({ key }: StepContext) => (seen.push(key), "paid");
      yield* step("pay", pay);
      yield* step("pay", pay);
      yield* step.all([step("pay", pay), step("zahle für", pay)]);
      return "";
    };
    const outcome = await runThread(durable(program), { threadId: "T", options, steps });
    return { seen, steps: outcome.steps };
  };

  test("contains the thread, the step's name and its number", async () => {
    const { seen, steps } = await keys();
    expect(seen).toEqual(["T:pay:1", "T:pay:2", "T:pay:3", "T:zahle%20f%C3%BCr:1"]);
    expect((await keys({}, steps.slice(0, 2))).seen).toEqual(seen.slice(2));
  });

  test("contains the root thread in a fork, and in a fork of a fork", async () => {
    const forkFrom = { threadId: "A", steps: 0 };
    expect((await keys({ forkFrom })).seen[0]).toBe("A:pay:1");
    expect((await keys({ forkFrom: { ...forkFrom, origin: "B" } })).seen[0]).toBe("B:pay:1");
  });
});
