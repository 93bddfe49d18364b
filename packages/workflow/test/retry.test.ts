import { afterEach, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { replayedFailure, retryOptions } from "../src/host/rules.ts";
import { readAttempts } from "../src/local/threads/events.ts";
import { forkThread } from "../src/local/threads/start.ts";
import { readView } from "../src/local/threads/view.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";

afterEach(removeStores);

const entryPoint = join(import.meta.dir, "..", "src", "entry", "index.ts");

/** A durable workflow as a bundle. */
async function bundleOf(program: string): Promise<string> {
  const entry = join(import.meta.dir, "entry.ts");
  const source = `
    import { appendFileSync, existsSync, readFileSync } from "node:fs";
    import { durable } from ${JSON.stringify(entryPoint)};
    export const descriptor = { description: "calls", roles: {} };
    export const run = durable(${program});`;
  const files = { [entry]: source };
  const { outputs } = await Bun.build({ entrypoints: [entry], files, target: "node" });
  return await (outputs[0] as Blob).text();
}

/** A workflow of one step that fails `params.failures` times, and writes the key and the time of each try to a file. */
const bundled = (): Promise<string> =>
  bundleOf(`async function* (step, input) {
      const { failures, retry } = input.params;
      yield* step("caller", ({ key, env }) => {
        const path = env.FOLDER + "/tries";
        appendFileSync(path, key + " " + Date.now() + "\\n");
        const tries = readFileSync(path, "utf8").trimEnd().split("\\n").length;
        if (tries <= failures) throw new Error("busy " + tries);
        return "after " + tries;
      }, { retry });
      return "done";
    }`);

async function calling(failures: number, retry: object) {
  const store = new TestStore();
  const params = { failures, retry };
  const ref = await store.start(await store.add(await bundled()), "", { params });
  const path = join(store.folder, "tries");
  const tries = (): [key: string, at: number][] =>
    !existsSync(path)
      ? []
      : readFileSync(path, "utf8")
          .trimEnd()
          .split("\n")
          .map((line) => [line.split(" ")[0] ?? "", Number(line.split(" ")[1])]);
  return { store, ref, tries };
}

test("each try is an attempt, and the last attempt lists the earlier attempts", async () => {
  const { store, ref, tries } = await calling(2, { attempts: 5, backoff: 5 });
  await store.whenStatus(ref, "completed");
  const attempts = await readAttempts(store.root, ref);
  expect(attempts).toMatchObject([
    { role: "caller", status: "failed", step: 1, retries: [], error: { message: "busy 1" } },
    { role: "caller", status: "failed", step: 2, error: { message: "busy 2" } },
    { role: "caller", status: "committed", step: 3, error: null },
  ]);
  const [first, second, third] = attempts;
  const before = [
    { at: first?.endedAt, delayMs: 5, error: "busy 1", attempt: first?.attempt },
    { at: second?.endedAt, delayMs: 10, error: "busy 2", attempt: second?.attempt },
  ];
  expect(second?.retries).toEqual(before.slice(0, 1) as never);
  expect(third?.retries).toEqual(before as never);
  expect(new Set(tries().map(([key]) => key))).toEqual(new Set([`${ref.threadId}:caller:1`]));
});

test("a retry restarts the tries, and has the same key as its source thread", async () => {
  const { store, ref, tries } = await calling(5, { attempts: 2, backoff: 0 });
  const again = async (from: typeof ref) => {
    await store.whenStatus(from, "failed");
    const options = retryOptions(await readView(store.root, from), { env: store.env });
    return await forkThread(store.root, from, options);
  };
  const last = await again(await again(ref));
  expect((await store.whenStatus(last, "completed")).steps.at(-1)?.content).toBe("after 6");
  expect(tries().map(([key]) => key)).toEqual(Array(6).fill(`${ref.threadId}:caller:1`));
});

/** A step that fails until a file exists, and a step in `finally`. */
const cleaningUp = (rethrow: string) => `async function* (step, { prompt }) {
  yield* step("lock", () => "locked");
  try {
    yield* step.all({
      other: () => "other",
      work: () => {
        if (!existsSync(prompt)) throw new Error("the server is down");
        return "worked";
      },
    });
  } ${rethrow} finally {
    yield* step("unlock", () => "unlocked");
  }
  return "done";
}`;

for (const rethrow of ["", 'catch (error) { throw new Error("no work", { cause: error }); }']) {
  test(`a retry repeats the step that failed before a step in finally ${rethrow}`, async () => {
    const store = new TestStore();
    const flag = join(store.folder, "is up");
    const ref = await store.start(await store.add(await bundleOf(cleaningUp(rethrow))), flag);
    await store.whenStatus(ref, "failed");
    const failed = await readView(store.root, ref);
    expect(failed.steps.map(({ role }) => role)).toEqual(["lock", "other", "work", "unlock"]);
    // Simulates a kill before the end record. The next worker replays the failure.
    const { env } = store;
    const keepAll = { keep: { atStep: 4 }, env };
    const replayed = await forkThread(store.root, ref, keepAll);
    await store.whenStatus(replayed, "failed");
    const again = await readView(store.root, replayed);
    expect(again.status === "failed" && again.error).toMatchObject({ role: "work" });
    writeFileSync(flag, "");
    for (const view of [failed, again]) {
      const retried = await forkThread(store.root, view, retryOptions(view, { env }));
      await store.whenStatus(retried, "completed");
      const { steps } = await readView(store.root, retried);
      expect(steps.map(({ content }) => content)).toEqual([
        ...["locked", "other", "worked", "unlocked"],
      ]);
    }
  });
}

test("a retry that would only replay a failure is detected, with the fork that repeats the step", async () => {
  const store = new TestStore();
  const { env } = store;
  const flag = join(store.folder, "is up");
  const program = cleaningUp('catch { throw new Error("no work"); }');
  const ref = await store.start(await store.add(await bundleOf(program)), flag);
  await store.whenStatus(ref, "failed");
  const failed = await readView(store.root, ref);
  writeFileSync(flag, "");
  const retried = await forkThread(store.root, failed, retryOptions(failed, { env }));
  await store.whenStatus(retried, "failed");
  const atStep = replayedFailure(failed) ?? -1;
  expect(failed.steps[atStep]?.role).toBe("work");
  const forked = await forkThread(store.root, failed, { keep: { atStep }, env });
  await store.whenStatus(forked, "completed");
  expect(replayedFailure(await readView(store.root, forked))).toBeNull();
});
