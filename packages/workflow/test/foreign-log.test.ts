import { afterEach, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { killThread, resumeThread } from "../src/local/workers/control.ts";
import { forkThread } from "../src/local/threads/start.ts";
import { verifyStore } from "../src/local/upkeep/verify.ts";
import { dataPath } from "../src/disk/paths.ts";
import type { ThreadRef } from "../src/record/thread.ts";
import { counter } from "./fixtures/bundles.ts";
import { sealedLogOf, stepLine, unsealed } from "./fixtures/records.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";
import { codeOf } from "./fixtures/until.ts";

afterEach(removeStores);

const threadId = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
const startOf = (hash: string): string =>
  JSON.stringify({
    name: "w",
    hash,
    threadId,
    parameters: { prompt: "", options: { maxRounds: 100 }, later: { a: 1 } },
    timestamp: 1,
    later: [1, 2],
  });

async function storeWith(
  ...steps: string[]
): Promise<{ store: TestStore; ref: ThreadRef; path: string }> {
  const store = new TestStore();
  const hash = await store.add(counter);
  const path = dataPath(store.root, hash, threadId);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(path, sealedLogOf(startOf(hash), ...steps), { mode: 0o600 });
  return { store, ref: { hash, threadId }, path };
}

const linesOf = (path: string): string[] =>
  readFileSync(path, "utf8").trimEnd().split("\n").map(unsealed);

describe("a log of a newer version (F26)", () => {
  const later = stepLine("0").replace('"timestamp"', '"later":{"b":"é"},"timestamp"');

  test("with additional keys is continued and forked, and keeps the keys", async () => {
    const { store, ref, path } = await storeWith(later);
    await resumeThread(store.root, ref, { env: {} });
    expect((await store.whenStatus(ref, "completed")).steps).toHaveLength(3);
    expect(linesOf(path).slice(0, 2)).toEqual([startOf(ref.hash), later]);
    const fork = await forkThread(store.root, ref, { env: {}, keep: { atStep: 1 } });
    await store.whenStatus(fork, "completed");
    expect(linesOf(dataPath(store.root, fork.hash, fork.threadId))[1]).toBe(later);
    expect((await verifyStore(store.root)).problems).toEqual([]);
  });

  test("with an unknown reserved role is read, and neither continued nor copied", async () => {
    const { store, ref, path } = await storeWith(later, stepLine("").replace("count", "__sleep__"));
    const before = readFileSync(path);
    expect(await store.read(ref)).toMatchObject({ status: "interrupted", steps: [{}, {}] });
    const { root } = store;
    expect(await codeOf(resumeThread(root, ref, { env: {} }))).toBe("NEWER_LOG");
    expect(await codeOf(killThread(root, ref))).toBe("NEWER_LOG");
    const answer = { env: {}, input: { content: "yes" } };
    expect(await codeOf(resumeThread(root, ref, answer))).toBe("NEWER_LOG");
    const all = { env: {}, keep: { atStep: 2 } };
    expect(await codeOf(forkThread(root, ref, all))).toBe("NEWER_LOG");
    expect(readFileSync(path)).toEqual(before);
    const fork = await forkThread(root, ref, { env: {}, keep: { atStep: 1 } });
    await store.whenStatus(fork, "completed");
  });

  test("with another checksum is broken at its line, and stays unchanged", async () => {
    const { store, ref, path } = await storeWith(later, stepLine("1"));
    const longer = readFileSync(path, "utf8").replaceAll(/"sum":"(\w{16})"/g, '"sum":"$1$1"');
    writeFileSync(path, longer);
    expect(await store.read(ref)).toMatchObject({ status: "corrupt" });
    expect(await codeOf(resumeThread(store.root, ref, { env: {} }))).toBe("LOG_CORRUPT");
    const [problem] = (await verifyStore(store.root)).problems;
    expect(problem).toMatchObject({ line: 1 });
    expect(readFileSync(path, "utf8")).toBe(longer);
  });
});

describe("a log from elsewhere (F19)", () => {
  const other = "01BRZ3NDEKTSV4RRFFQ69G5FAV";
  const ways: [string, (line: string, hash: string) => string][] = [
    ["that is another thread's copy", (line) => line],
    [
      "whose id points outside of the storage root",
      (line) => line.replace(threadId, "../../../evil"),
    ],
    [
      "of another version",
      (line, hash) => line.replace(threadId, other).replace(hash, "EYHPV6X8XHTCS"),
    ],
  ];
  test.each(ways)("%s is corrupt, and nothing is written for it", async (_, change) => {
    const { store, ref, path } = await storeWith(stepLine("0"));
    const [start = "", ...steps] = linesOf(path);
    const copy = sealedLogOf(change(start, ref.hash), ...steps);
    const copyPath = path.replace(threadId, other);
    writeFileSync(copyPath, copy, { mode: 0o600 });
    const before = readFileSync(path);
    const copied = { ...ref, threadId: other };
    const { root } = store;
    expect(await store.read(copied)).toMatchObject({ status: "corrupt" });
    expect(await codeOf(resumeThread(root, copied, { env: {} }))).toBe("LOG_CORRUPT");
    expect(await codeOf(killThread(root, copied))).toBe("LOG_CORRUPT");
    expect([readFileSync(path), readFileSync(copyPath)]).toEqual([before, Buffer.from(copy)]);
    expect(readdirSync(store.folder)).toEqual(["root"]);
    expect((await verifyStore(root)).problems).toMatchObject([{ path: copyPath }]);
  });
});
