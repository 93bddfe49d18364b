import { afterAll, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { ulid } from "ulid";
import type { TruncatedValue } from "../src/contract/event.ts";
import { removeThread, resumeThread } from "../src/local/control.ts";
import { readLines, readValue } from "../src/local/events.ts";
import { forkThread } from "../src/local/start.ts";
import { verifyStore } from "../src/local/verify.ts";
import { valuesPath } from "../src/storage/paths.ts";
import type { ThreadRef } from "../src/thread/thread.ts";
import { bundleOf } from "./fixtures/bundles.ts";
import { spawnClient } from "./fixtures/clients.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";
import { codeOf } from "./fixtures/until.ts";

afterAll(removeStores);

/** Each step publishes a value of its own, of `options.size` characters, and one that is always the same. */
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
  test("is kept in full, once, and can be read by what the event says", async () => {
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

  test("is refused politely where none begins", async () => {
    const store = new TestStore();
    const ref = await store.start(await store.add(teller));
    await store.whenStatus(ref, "completed");
    for (const at of [1, -1, 0.5, Number.NaN, 2 ** 60, statSync(pathOf(store, ref)).size]) {
      expect(await codeOf(Promise.try(() => readValue(store.root, ref, at)))).toBe(
        "VALUE_NOT_FOUND",
      );
    }
  });

  test("holds none of the environment's secrets", async () => {
    const store = new TestStore();
    const secret = "sk-ant-0123456789";
    const env = { ...store.env, API_TOKEN: secret };
    const ref = await store.start(await store.add(teller), "", { env });
    await store.whenStatus(ref, "completed");
    const text = readFileSync(pathOf(store, ref), "utf8");
    expect(text).toContain("ü***");
    expect(text).not.toContain(secret);
  });

  test("stays where it was when the worker is killed and the thread taken up", async () => {
    const store = new TestStore();
    const options = { count: 30, delayMs: 5, size: 300_000 };
    const ref = await store.start(await store.add(teller), "", { options });
    await store.whenSteps(ref, 3);
    await store.signalWorkers("SIGKILL");
    writeFileSync(pathOf(store, ref), '"half a val', { flag: "a" });
    await resumeThread(store.root, ref, { env: store.env });
    await store.whenStatus(ref, "completed");
    const events = await published(store, ref);
    expect(new Set(events.map(({ n }) => n)).size).toBe(30);
    for (const { n, output } of events) {
      const json = readValue(store.root, ref, output.at ?? -1);
      expect(json === outputOf(n, options.size)).toBe(true);
    }
  });
});

describe("a thread whose values", () => {
  test("can't be written ends as any other, and its events have no place for them", async () => {
    const store = new TestStore();
    const hash = await store.add(teller);
    const threadId = ulid();
    const precious = join(store.folder, "precious");
    writeFileSync(precious, "precious");
    const path = pathOf(store, { hash, threadId });
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    symlinkSync(precious, path);
    const ref = await store.start(hash, "", { threadId });
    await store.whenStatus(ref, "completed");
    const events = await published(store, ref);
    expect(events.map(({ output }) => output.at)).toEqual([undefined, undefined, undefined]);
    expect(events[0]?.output).toMatchObject({ _truncated: true, length: 20_003 });
    expect(readFileSync(precious, "utf8")).toBe("precious");
    expect(await codeOf(Promise.try(() => readValue(store.root, ref, 0)))).toBe("PLANTED_LINK");
  });

  test("have no room on the disk ends as any other, with those that had", async () => {
    const store = new TestStore();
    const hash = await store.add(teller);
    const shell = 'ulimit -f 128 2>/dev/null; [ "$(ulimit -f)" = 128 ]';
    const [printed] = await spawnClient(store, { workflow: hash }, { shell }).printed();
    const ref = { hash, threadId: printed?.threadId ?? "" };
    await store.whenStatus(ref, "completed");
    const events = await published(store, ref);
    expect(events.map(({ output }) => output.at !== undefined)).toEqual([true, false, false]);
    for (const { n, output } of events) {
      if (output.at === undefined) continue;
      expect(readValue(store.root, ref, output.at) === outputOf(n)).toBe(true);
    }
  });

  test("were kept leaves nothing when it is removed, and its fork has none of them", async () => {
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
