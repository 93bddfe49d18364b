import { expect, test } from "bun:test";
import { type DurableProgram, durable } from "./durable.ts";
import { run } from "../testing/run-thread.ts";

/** A promise that the test settles. */
function gate<T>(): { opened: Promise<T>; open: (value: T) => void; fail: (error: Error) => void } {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  return { opened: promise, open: resolve, fail: reject };
}

test("the program's finally blocks run when the thread is closed", async () => {
  const closed: string[] = [];
  const workflow = durable(async function* (step) {
    try {
      yield* step("a", () => "");
      yield* step("b", () => "");
    } finally {
      closed.push("closed");
    }
    return "";
  });
  const thread = workflow({ prompt: "", steps: [] }, { threadId: "t", maxRounds: 9 });
  await thread.next();
  await thread.return({ returnCode: 1, summary: "killed" });
  expect(closed).toEqual(["closed"]);
});

test("work that fails after the close does not cause an unhandled rejection", async () => {
  const late = gate<string>();
  const workflow = durable(async function* (step) {
    yield* step.all({ a: () => "", b: () => late.opened });
    return "";
  });
  const thread = workflow({ prompt: "", steps: [] }, { threadId: "t", maxRounds: 9 });
  await thread.next();
  await thread.return({ returnCode: 1, summary: "killed" });
  late.fail(new Error("too late"));
  await Promise.resolve();
  expect((await thread.next()).done).toBe(true);
});

test("the program may return a result with a return code, which the engine checks", async () => {
  const program: DurableProgram = async function* (step) {
    yield* step("a", () => "");
    return { returnCode: 3, summary: "no" };
  };
  expect(await run(program)).toMatchObject({ status: "failed", reason: "returned" });
});
