import { afterEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { retryOptions } from "../src/host/rules.ts";
import { killThread } from "../src/local/workers/control.ts";
import { forkThread } from "../src/local/threads/start.ts";
import { readView } from "../src/local/threads/view.ts";
import { dataPath, type Root } from "../src/disk/paths.ts";
import type { ThreadRef } from "../src/record/thread.ts";
import { bundleOf, counter, endless } from "./fixtures/bundles.ts";
import { unsealed } from "./fixtures/records.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";
import { codeOf } from "./fixtures/until.ts";

const retry = async (root: Root, ref: ThreadRef, options: Parameters<typeof retryOptions>[1]) =>
  forkThread(root, ref, retryOptions(await readView(root, ref), options));

afterEach(removeStores);

const hintOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(String, ({ hint }: { hint?: string }) => String(hint));

describe("fork and retry", () => {
  test("of a thread during a write copy whole steps byte for byte, except their checksums", async () => {
    const store = new TestStore();
    const hash = await store.add(endless);
    const ref = await store.start(hash, "", { options: { delayMs: 0 }, maxRounds: 100_000 });
    await store.whenSteps(ref, 5);
    const forks = [];
    for (let n = 0; n < 10; n += 1) forks.push(await forkThread(store.root, ref, { env: {} }));
    await killThread(store.root, ref);
    const linesOf = (threadId: string) =>
      readFileSync(dataPath(store.root, hash, threadId), "utf8")
        .split("\n")
        .map(unsealed);
    const source = linesOf(ref.threadId);
    for (const { threadId, forkFrom } of forks) {
      await killThread(store.root, { hash, threadId }).catch(() => undefined);
      const lines = linesOf(threadId);
      expect(lines.slice(1, forkFrom.steps + 1)).toEqual(source.slice(1, forkFrom.steps + 1));
      const numbers = lines.slice(1, -2).map((line) => Number(JSON.parse(line).content));
      expect(numbers).toEqual(numbers.map((_, index) => index));
    }
  });

  test("retry continues failed and killed threads with every step, and refuses all other threads", async () => {
    const store = new TestStore();
    const hash = await store.add(
      bundleOf(`yield step("a"); if (input.steps.length < 2) throw new Error("not yet");`),
    );
    const ref = await store.start(hash, "", { maxRounds: 100 });
    expect((await store.whenStatus(ref, "failed")).result?.summary).toBe("not yet");
    const first = await retry(store.root, ref, { env: {} });
    await store.whenStatus(first, "failed");
    const second = await retry(store.root, first, { env: {} });
    const done = await store.whenStatus(second, "completed");
    expect(done.steps).toHaveLength(3);
    expect(await codeOf(retry(store.root, done, { env: {} }))).toBe("NOTHING_TO_RETRY");
    expect(await hintOf(retry(store.root, done, { env: {} }))).toContain("fork it: ");
    const short = await store.whenStatus(
      await store.start(hash, "", { maxRounds: 1 }),
      "completed",
    );
    expect(await hintOf(retry(store.root, short, { env: {} }))).toContain("--max-rounds N");
    const more = await retry(store.root, done, { env: {}, maxRounds: 200 });
    expect((await store.whenStatus(more, "completed")).steps).toHaveLength(4);
  });

  test("may begin a rerun with an input of any meta, after steps without a question", async () => {
    const store = new TestStore();
    const report =
      'yield step("report", input.steps.at(-1)?.role ?? "none", input.steps.at(-1)?.meta);';
    const hash = await store.add(bundleOf(`yield step("first"); ${report} yield step("last");`));
    const ref = await store.start(hash);
    await store.whenStatus(ref, "completed");
    const meta = { for: "rerun", stepID: "report", overrides: { $a: 1 } };
    const { threadId } = await forkThread(store.root, ref, {
      env: {},
      keep: { atStep: 1 },
      rerun: { content: "", meta },
    });
    const { steps } = await store.whenStatus({ hash, threadId }, "completed");
    expect(steps[1]).toMatchObject({ role: "__input__", content: "", meta });
    expect(steps[3]).toMatchObject({ role: "report", content: "__input__", meta });
  });
});

describe("maxRounds", () => {
  const described = (rounds: unknown) =>
    counter.replace("roles: {}", `roles: {}, maxRounds: ${JSON.stringify(rounds)}`);

  test("comes from the starter, else the descriptor, else it is 100; a fork keeps the limit of its source", async () => {
    const store = new TestStore();
    const roundsOf = async (source: string, maxRounds?: number) => {
      const ref = await store.start(await store.add(source), "", { maxRounds });
      return { ref, rounds: (await store.whenStatus(ref, "completed")).maxRounds };
    };
    expect((await roundsOf(counter)).rounds).toBe(100);
    expect((await roundsOf(described(2000))).rounds).toBe(2000);
    expect((await roundsOf(described("many"))).rounds).toBe(100);
    const { ref, rounds } = await roundsOf(described(2000), 7);
    expect(rounds).toBe(7);
    const { threadId } = await forkThread(store.root, ref, { env: {} });
    expect((await store.read({ ...ref, threadId })).maxRounds).toBe(7);
  });
});
