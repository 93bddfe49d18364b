import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { systemError } from "../../test/fixtures/faulty-disk.ts";
import type { Step } from "../contract/contract.ts";
import { maskOf, noMask } from "../contract/mask.ts";
import type { StartRequest } from "../control/control.ts";
import { checkJournal, readJournal } from "../disk/journal.ts";
import { readLocation } from "../disk/location.ts";
import { journalPath, type Root } from "../disk/paths.ts";
import { DiskStore } from "../disk/store.ts";
import { type JournalHead, type StartRecord, withHead } from "../record/record.ts";
import type { NewThread } from "../store/store.ts";
import { realSystem } from "../system/real.ts";
import { useSystem } from "../system/system.ts";
import { prepareThread } from "./create.ts";
import { ThreadJournal } from "./journal.ts";
import { JournalReader } from "./journal-reader.ts";

const start: StartRecord = {
  name: "a",
  hash: "C9NMV6V2TQT81",
  threadId: "01J0000000000000000000000A",
  parameters: { prompt: "", options: { maxRounds: 1 } },
  timestamp: 0,
};
const { hash, threadId } = start;

let folder: string;
let root: Root;
let path: string;
/** The synced files, in order. */
let synced: string[];
let refuses: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "journal-test-"));
  root = folder as Root;
  path = journalPath(root, hash, threadId);
  mkdirSync(dirname(path), { recursive: true });
  synced = [];
  refuses = "";
  const { files } = realSystem;
  const paths = new Map<number, string>();
  const note = (fd: number) => {
    const ending = basename(paths.get(fd) ?? "").replace(threadId, "");
    synced.push(ending);
    if (ending === refuses) throw systemError("EIO");
  };
  const open = (name: string, flags: number) => {
    const fd = files.open(name, flags);
    paths.set(fd, name);
    return fd;
  };
  const syncData = (fd: number) => (note(fd), files.syncData(fd));
  const syncDataLater = async (fd: number) => (note(fd), await files.syncDataLater(fd));
  useSystem({ ...realSystem, files: { ...files, open, syncData, syncDataLater } });
  const store = new DiskStore(root);
  await store.create(threadOf(start));
  await store.close();
});
afterEach(async () => {
  useSystem(realSystem);
  for (const store of stores.splice(0)) await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const threadOf = (of: StartRecord, ...steps: object[]): NewThread => ({
  ...{ hash, threadId: of.threadId, name: "a", createdAt: 0, state: { kind: "running" } },
  records: [of, ...steps].map((record) => JSON.stringify(record)),
});

type Opening = {
  of?: { threadId: string };
  head?: JournalHead | null;
  steps?: Step[];
  attempt?: string | null;
  open?: Set<string>;
  mask?: typeof noMask;
  isSuspect?: boolean;
};

const stores: DiskStore[] = [];

/** Opens a journal as a worker does, after the previous worker released the thread. */
async function opened({ of = start, head = null, steps, attempt = "a", ...more }: Opening = {}) {
  const { open = new Set<string>(), mask = noMask, isSuspect = false } = more;
  for (const before of stores.splice(0)) await before.close();
  const store = new DiskStore(root, { distrustsCache: isSuspect });
  stores.push(store);
  const claimed = await store.claim({ hash, threadId: of.threadId }, { owner: "", leaseMs: 1e9 });
  if (!claimed) throw new Error("the thread is claimed");
  // The tests provide the state of the log.
  const { ref } = claimed;
  const journal = (record: string) => claimed.journal(record);
  const claim = { ref, journalHead: head, steps: steps ?? claimed.steps, journal };
  const thread = new ThreadJournal({
    claim,
    reader: await JournalReader.open(store, claim),
    old: async () => [],
    mask,
    isOpen: (id) => open.has(id),
    attempt: () => attempt,
  });
  if (attempt !== null) thread.started(attempt, { role: "coder" }, 1);
  return { ...thread.journal, thread, store };
}

const key = "01J:coder:1";
const entriesOf = async (journal: Awaited<ReturnType<typeof opened>>, of = key) =>
  (await journal.read(of)).map(({ entry }) => entry);
const linesOf = (file = path): string[] => readFileSync(file, "utf8").trimEnd().split("\n");
const kinds = (file = path) =>
  linesOf(file).map((line) => (JSON.parse(line) as { kind: string }).kind);
const write = (lines: string[]) => writeFileSync(path, `${lines.join("\n")}\n`);

async function corrupt(head: JournalHead | null = null): Promise<string> {
  try {
    await opened({ head });
  } catch (error) {
    const { code, message, hint } = error as { code: string; message: string; hint: string };
    expect({ code, isOneLine: !message.includes("\n") }).toEqual({
      code: "LOG_CORRUPT",
      isOneLine: true,
    });
    expect(hint).toContain("repeat the step with its tool calls");
    return message;
  }
  throw new Error("the journal was opened");
}

describe("a journal", () => {
  test("is created with its first record, without a location note", async () => {
    const journal = await opened();
    expect([existsSync(path), await entriesOf(journal)]).toEqual([false, []]);
    expect(await journal.record(key, { n: 1 })).toBe(true);
    expect(kinds()).toEqual(["journal", "worker", "attempt", "entry"]);
    expect(readLocation(root, start)).toBeNull();
    expect(await entriesOf(await opened({ attempt: "b" }))).toEqual([{ n: 1 }]);
  });

  test("returns the entries of earlier attempts to an attempt, but not its own", async () => {
    const open = new Set(["a"]);
    const journal = await opened({ open });
    await journal.record(key, 1);
    await journal.record("other", 2);
    expect(await entriesOf(journal)).toEqual([]);
    journal.thread.ended("a", "failed");
    open.delete("a");
    expect(await journal.read(key)).toEqual([{ entry: 1, failed: true }]);
  });

  test("syncs concurrent records together", async () => {
    const journal = await opened();
    await journal.record(key, 0);
    synced = [];
    useSystem({
      ...realSystem,
      files: {
        ...realSystem.files,
        syncDataLater: async (fd) => (
          synced.push("later"), await realSystem.files.syncDataLater(fd)
        ),
      },
    });
    const two = [1, 2, 3, 4].map((n) => journal.record(key, n));
    expect(await Promise.all(two)).toEqual([true, true, true, true]);
    expect(await entriesOf(await opened({ attempt: "b" }))).toEqual([0, 1, 2, 3, 4]);
    expect(synced.length).toBeLessThan(4);
  });

  test("omits an entry that failed to sync or is too large, and continues", async () => {
    const journal = await opened();
    await journal.record(key, 1);
    expect(await journal.record(key, "x".repeat(65 * 1024 * 1024))).toBe(false);
    expect(await journal.record(key, 2)).toBe(true);
    refuses = ".journal.jsonl";
    const next = await opened({ attempt: "b" });
    expect(await next.record(key, 3)).toBe(false);
    await next.store.close();
    expect(next.store.hasUnsynced).toBe(true);
    refuses = "";
    expect(await entriesOf(await opened({ attempt: "c", isSuspect: true }))).toEqual([1, 2]);
  });

  test("contains no secrets", async () => {
    const mask = maskOf({ API_KEY: "verysecret1" });
    const journal = await opened({ mask });
    await journal.record(key, { said: "it is verysecret1" });
    expect(readFileSync(path, "utf8")).not.toContain("verysecret1");
    expect(await entriesOf(await opened({ attempt: "b" }))).toEqual([{ said: "it is ***" }]);
  });

  test("names its head when all records are durable", async () => {
    const journal = await opened();
    expect(journal.thread.head()).toBeNull();
    void journal.record(key, 1);
    const head = await journal.thread.head();
    expect(head).toEqual(readJournal(path, null).fold.head);
    expect(head?.records).toBe(4);
    expect(await (await opened({ head })).thread.head()).toEqual(head);
  });

  test("reports the cost of calls that no committed step records", async () => {
    const journal = await opened();
    const pay = (call_id: string, attempt: string) => {
      journal.thread.event({
        type: "llm_start",
        stepID: "s",
        attempt,
        payload: { call_id, model: "m" },
      });
      const usage = { input_tokens: 2, output_tokens: 1 };
      const payload = { call_id, model: "m", usage, cost_usd: 0.5, state: "whole" };
      journal.thread.event({ type: "llm_usage", stepID: "s", attempt, payload });
    };
    for (const [n, attempt] of ["a", "b", "a"].entries()) pay(`c${n}`, attempt);
    await journal.settled?.();
    await journal.store.close();
    const usage = { input_tokens: 2, output_tokens: 1 };
    const steps = [
      { role: "r", content: "", meta: { usage, cost: 1 }, timestamp: 0, attempt: "a" },
    ];
    const paid = (await opened({ steps, attempt: "c" })).paid?.() ?? [];
    expect(paid).toMatchObject([{ call: "c1", attempt: "b", cost: 0.5, state: "whole" }]);
    // A reused entry belongs to the attempt that continues from it.
    await (await opened({ attempt: "a" })).record(key, "on", ["c1"]);
    expect((await opened({ steps, attempt: "c" })).paid?.()).toEqual([]);
  });
});

describe("a damaged journal", () => {
  const record = async () => {
    const journal = await opened();
    for (const n of [1, 2, 3]) await journal.record(key, n);
    const head = await journal.thread.head();
    await journal.store.close();
    return head;
  };

  test("is reported with file and line before any work is repeated, for any kind of damage", async () => {
    const head = await record();
    const lines = linesOf();
    const swapped = lines.with(3, lines[4] as string).with(4, lines[3] as string);
    for (const [damaged, line] of [
      [lines.toSpliced(3, 1), 4],
      [lines.toSpliced(3, 0, lines[3] as string), 5],
      [swapped, 4],
      [lines.with(4, (lines[4] as string).replace('"entry":2', '"entry":7')), 5],
      [lines.slice(0, -1), 6],
      [lines.slice(0, -2), 5],
    ] as const) {
      write([...damaged]);
      expect(await corrupt(head)).toStartWith(`${path}:${line}: `);
      expect(checkJournal(root, start, head)).toMatchObject({ line });
    }
    write(lines);
    expect(await entriesOf(await opened({ head, attempt: "b" }))).toEqual([1, 2, 3]);
  });

  test("is reported when it was deleted, even before the thread's log names it", async () => {
    const head = await record();
    rmSync(path);
    expect(await corrupt(head)).toStartWith(`${path}:1: `);
    expect(await corrupt()).toBe(`${path}:1: the journal is missing`);
  });

  test("is detected while its thread is driven", async () => {
    await record();
    const journal = await opened({ attempt: "b" });
    write(linesOf().map((line) => line.replace('"entry":2', '"entry":7')));
    expect(journal.read(key)).rejects.toMatchObject({ code: "LOG_CORRUPT" });
    truncateSync(path, 10);
    expect(await journal.record(key, 4)).toBe(false);
  });

  test("continues after a crash at any byte of its end, and saves the torn bytes", async () => {
    await record();
    const whole = readFileSync(path);
    const last = whole.lastIndexOf("\n", whole.length - 2) + 1;
    for (const length of [last, last + 1, last + 20, whole.length - 1]) {
      writeFileSync(path, whole.subarray(0, length));
      const isWhole = length === whole.length - 1;
      const next = await opened({ attempt: "b" });
      expect(await entriesOf(next)).toEqual(isWhole ? [1, 2, 3] : [1, 2]);
      expect(await next.record(key, "next")).toBe(true);
      await next.store.close();
      const after = await entriesOf(await opened({ attempt: "c" }));
      expect(after).toEqual(isWhole ? [1, 2, 3, "next"] : [1, 2, "next"]);
    }
    const kept = readdirSync(dirname(path)).filter((name) => name.includes(".torn-"));
    expect(kept).toEqual([`${threadId}.journal.torn-${last}`]);
  });
});

describe("the journal of a fork", () => {
  const to = { hash, threadId: "01J0000000000000000000000B" };
  /** Forks the thread with all its steps. */
  async function forked(): Promise<JournalHead | null> {
    const store = new DiskStore(root);
    stores.push(store);
    const fork = { hash, threadId, keep: { first: 0 } };
    const request = { threadId: to.threadId, workflow: "a", env: {}, fork } as StartRequest;
    await store.create((await prepareThread(store, hash, request)).thread);
    const claim = await store.claim(to, { owner: "", leaseMs: 1e9 });
    return claim?.journalHead ?? null;
  }

  test("has the entries of its source, but not the costs of the source", async () => {
    const journal = await opened();
    const call = { call_id: "c1", model: "m" };
    journal.thread.event({ type: "llm_start", stepID: null, attempt: "a", payload: call });
    await journal.record(key, 1);
    journal.thread.ended("a", "failed");
    await journal.settled?.();
    await journal.store.close();
    const head = await forked();
    const copy = journalPath(root, hash, to.threadId);
    expect(kinds(copy)).toEqual(["journal", "attempt", "entry", "failed"]);
    expect(head?.records).toBe(4);
    rmSync(path);
    const fork = await opened({ of: to, head, attempt: "b" });
    expect([await fork.read(key), fork.paid?.()]).toEqual([[{ entry: 1, failed: true }], []]);
  });

  test("is not created from a damaged journal", async () => {
    const journal = await opened();
    await journal.record(key, 1);
    await journal.store.close();
    appendFileSync(path, "{}\n");
    const error = await forked().catch((thrown: unknown) => thrown);
    expect((error as Error).message).toStartWith(`${path}:5: `);
    expect(existsSync(journalPath(root, hash, to.threadId))).toBe(false);
  });
});

test("a record of a claimed thread names the journal's head, and steps do not show it", async () => {
  const journal = await opened();
  await journal.record(key, 1);
  const head = await journal.thread.head();
  await journal.store.close();
  const store = new DiskStore(root);
  stores.push(store);
  const claim = await store.claim({ hash, threadId }, { owner: "", leaseMs: 1e9 });
  const step = { role: "a", content: "", meta: {}, timestamp: 1 };
  await claim?.append(withHead(JSON.stringify(step), head), { kind: "running" });
  await store.close();
  const next = new DiskStore(root);
  stores.push(next);
  const again = await next.claim({ hash, threadId }, { owner: "", leaseMs: 1e9 });
  expect([again?.steps, again?.journalHead]).toEqual([[step], head]);
});
