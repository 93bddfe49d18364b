import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import type { TruncatedValue } from "../src/contract/event.ts";
import { removeThread } from "../src/local/workers/control.ts";
import { readLines, readValue } from "../src/local/threads/events.ts";
import { forkThread } from "../src/local/threads/start.ts";
import { verifyStore } from "../src/local/upkeep/verify.ts";
import { valuesPath } from "../src/disk/paths.ts";
import type { ThreadRef } from "../src/record/thread.ts";
import { bundleOf } from "./fixtures/bundles.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";

afterAll(removeStores);

/** A workflow whose steps each publish a different value of `options.size` characters, and a constant value. */
const teller = `import { channel } from "node:diagnostics_channel";
const events = channel("uncaged.workflow");
${bundleOf(`
  for (let n = input.steps.length; n < (options.count ?? 3); n += 1) {
    const output = String(n) + "ü".repeat(options.size ?? 20_000) + (env.API_TOKEN ?? "");
    const payload = { n, output, always: "a".repeat(12_000) };
    events.publish({ type: "tool_done", stepID: "teller", payload });
    if (options.delayMs) await sleep(options.delayMs);
    yield step("teller", String(n));
  }
`)}`;

type Published = { n: number; output: TruncatedValue; always: TruncatedValue };

async function published(store: TestStore, ref: ThreadRef): Promise<Published[]> {
  const found = await Array.fromAsync(readLines(store.root, ref, { only: ["tool_done"] }));
  const events = found.map(({ record }) => record);
  return events.map(({ payload }) => payload as Published);
}

const pathOf = (store: TestStore, { hash, threadId }: ThreadRef): string =>
  valuesPath(store.root, hash, threadId);

const outputOf = (n: number, size = 20_000): string => JSON.stringify(`${n}${"ü".repeat(size)}`);

describe("a value that is too long for its event", () => {
  test("is kept in full, once, and can be read by the event's reference", async () => {
    const store = new TestStore();
    const ref = await store.start(await store.add(teller));
    await store.whenStatus(ref, "completed");
    const events = await published(store, ref);
    expect(events.map(({ n }) => n)).toEqual([0, 1, 2]);
    for (const { n, output } of events) {
      const json = readValue(store.root, ref, output.at ?? -1);
      expect(json === outputOf(n)).toBe(true);
      expect(output.length).toBe(json.length);
    }
    expect(new Set(events.map(({ always }) => always.at)).size).toBe(1);
    const lines = readFileSync(pathOf(store, ref), "utf8").trimEnd().split("\n");
    expect(lines).toHaveLength(4);
    expect((await verifyStore(store.root)).problems).toEqual([]);
  });
});

describe("a thread whose values", () => {
  test("were kept is removed with all of its files, and its fork has no values", async () => {
    const store = new TestStore();
    const ref = await store.start(await store.add(teller));
    await store.whenStatus(ref, "completed");
    const options = { keep: { atStep: 3 }, env: store.env };
    const { threadId } = await forkThread(store.root, ref, options);
    const fork = { hash: ref.hash, threadId };
    await store.whenStatus(fork, "completed");
    expect(existsSync(pathOf(store, fork))).toBe(false);
    await removeThread(store.root, ref);
    const left = readdirSync(dirname(pathOf(store, ref)));
    expect(left.filter((name) => name.startsWith(ref.threadId))).toEqual([]);
  });
});
