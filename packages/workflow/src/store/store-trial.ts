import assert from "node:assert/strict";
import { isWorkflowError } from "../contract/error.ts";
import { firstSum, sealed } from "../record/sum.ts";
import type { ThreadRef } from "../record/thread.ts";
import {
  type Claim,
  FencedError,
  type LogName,
  type NewThread,
  type ThreadInfo,
  type ThreadState,
  type ThreadStore,
} from "./store.ts";

/** The medium under test. Each rule gets a new medium without threads. */
export type StoreUnderTest = {
  /** Opens a store over the medium, as another process would. */
  open: () => Promise<ThreadStore>;
  /**
   * Ends a store like a crash of its process: the store releases nothing, and its pending calls write nothing more. The
   * rules do not use the store afterwards.
   */
  die: (store: ThreadStore) => Promise<void>;
  /** Lets leases of this length expire. Absent when the store has no leases. */
  expire?: (leaseMs: number) => Promise<void>;
  /**
   * Leaves the first half of a record at the end of a log, like a crash during the write. Absent when a crash can't
   * leave partial records.
   */
  tear?: (ref: ThreadRef, log: LogName, record: string) => Promise<void>;
  /** Changes one byte within a line, counted from 0. Absent when the medium can't be changed outside of the store. */
  damage?: (ref: ThreadRef, log: LogName, line: number) => Promise<void>;
  /** Number of random sessions; 300 by default. */
  seeds?: number;
  /** A holder dies at every n-th call of a session; 1 by default. */
  deathsEvery?: number;
  /** Closes the stores that are still open, and removes the medium. */
  close: () => Promise<void>;
};

/** A record and the thread's state after it. */
export type Written = { record: string; state: ThreadState };

export const leaseMs = 60_000;
/** Hashes of two bundles, which are not stored. */
export const hash = "0000000000001";
export const otherHash = "0000000000002";

export const running: ThreadState = { kind: "running" };

export function startRecord(ref: ThreadRef, timestamp: number, prompt = ""): string {
  const parameters = { prompt, options: { maxRounds: 100, cwd: "/" } };
  return JSON.stringify({ name: "contract", ...ref, parameters, timestamp });
}

export function step(content: string, meta: object = {}): Written {
  return { record: JSON.stringify({ role: "a", content, meta, timestamp: 1 }), state: running };
}

/** An open question, with or without a timeout. */
export function question(dueAt: number | null): Written {
  const meta = { for: "leave", ...(dueAt !== null && { expiresAt: dueAt }) };
  const record = { role: "__wait__", content: "may I?", meta, timestamp: 1 };
  return { record: JSON.stringify(record), state: { kind: "waiting", dueAt } };
}

export function end(): Written {
  const meta = { returnCode: 0, reason: "returned" };
  const record = { role: "__end__", content: "done", meta, timestamp: 1 };
  return { record: JSON.stringify(record), state: { kind: "ended" } };
}

export const event = (seq: number): string =>
  JSON.stringify({ tag: "CONTRACT", content: `event ${seq}`, timestamp: 1, type: "print", seq });

/** Returns a record of exactly `bytes` bytes of UTF-8, with about a third as many characters. */
export function recordOf(bytes: number): string {
  const { record } = step("");
  const room = bytes - record.length;
  const content = "\u20ac".repeat(Math.floor(room / 3)) + "x".repeat(room % 3);
  return record.replace('"content":""', () => `"content":"${content}"`);
}

/** Stores over one medium, with helpers for the rules. */
export class Trial {
  /** Removes a thread through a store, or through its holder's store if the first store can't fence the holder. */
  async remove(ref: ThreadRef, store: ThreadStore, holder: ThreadStore): Promise<boolean> {
    try {
      return await store.remove(ref);
    } catch (error) {
      if (!isWorkflowError(error) || error.code !== "THREAD_CLAIMED") throw error;
      return await holder.remove(ref);
    }
  }

  readonly under: StoreUnderTest;
  /** The store of most rules. */
  readonly store: ThreadStore;
  #ids = 0;

  private constructor(under: StoreUnderTest, store: ThreadStore) {
    this.under = under;
    this.store = store;
  }

  static async begin(under: StoreUnderTest): Promise<Trial> {
    return new Trial(under, await under.open());
  }

  open(): Promise<ThreadStore> {
    return this.under.open();
  }

  /** Returns a ref with a new id, higher than all earlier ids, and by default with its own bundle. */
  ref(of?: string): ThreadRef {
    this.#ids += 1;
    const digits = String(this.#ids).padStart(6, "0");
    return { hash: of ?? `1000000${digits}`, threadId: `01KQXKW18CT8G75T53R8${digits}` };
  }

  /** Returns a new thread of one record. */
  thread(ref: ThreadRef = this.ref(), prompt = ""): NewThread {
    const createdAt = 1_777_000_000_000;
    const records = [startRecord(ref, createdAt, prompt)];
    return { ...ref, name: "contract", createdAt, records, state: running };
  }

  async create(given: Partial<NewThread> = {}, ref?: ThreadRef): Promise<ThreadInfo> {
    const { created, thread } = await this.store.create({ ...this.thread(ref), ...given });
    assert.equal(created, true, "the thread is new");
    return thread;
  }

  /** Claims an unclaimed thread. */
  async claim(ref: ThreadRef, store: ThreadStore = this.store): Promise<Claim> {
    const claim = await store.claim(ref, { owner: "a", leaseMs });
    assert.ok(claim, "the thread is claimed");
    return claim;
  }

  /** Claims a thread whose holder has died. */
  async succeed(ref: ThreadRef, store: ThreadStore): Promise<Claim> {
    const options = { owner: "successor", leaseMs };
    const claim =
      (await store.claim(ref, options)) ?? (await store.claim(ref, { ...options, takeOver: true }));
    assert.ok(claim, "a thread whose holder has died is claimed");
    return claim;
  }
}

/** Reads all lines of a log, page by page. */
export async function readAll(store: ThreadStore, ref: ThreadRef, log: LogName): Promise<string[]> {
  const lines: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await store.read(ref, log, cursor);
    lines.push(...page.lines);
    if (page.isEnd) return lines;
    assert.ok(page.lines.length > 0, "a page that is not the last has a line");
    cursor = page.cursor;
  }
}

/** Returns a log's records without their checksums, after checking the chain. */
export async function recordsIn(
  store: ThreadStore,
  ref: ThreadRef,
  log: "data" | "journal",
): Promise<string[]> {
  let sum = firstSum;
  return (await readAll(store, ref, log)).map((line, index) => {
    const record = line.replace(/,"sum":"[0-9a-f]{16}"\}$/, "}");
    const next = sealed(record, sum);
    sum = next.sum;
    // `assert.equal` would show both lines, which may be long.
    assert.ok(line === next.text, `the checksum of line ${index + 1} of the ${log} log`);
    return record;
  });
}

/** Asserts that an action is refused with an error code. */
export async function refused(act: () => Promise<unknown>, code: string): Promise<void> {
  const isRight = (error: unknown): boolean => isWorkflowError(error) && error.code === code;
  await assert.rejects(act, isRight, `refused with ${code}`);
}

/** Asserts that a write of an ended claim is refused with a FencedError, or with `code` if it is given. */
export async function fenced(act: () => Promise<unknown>, code?: string): Promise<void> {
  const isRight = (error: unknown): boolean =>
    error instanceof FencedError || (isWorkflowError(error) && error.code === code);
  await assert.rejects(act, isRight, "refused with FencedError");
}

/** Asserts that every write of an ended claim is refused. */
export async function isOver(claim: Claim): Promise<void> {
  const { record, state } = step("late");
  await fenced(() => claim.append(record, state));
  await fenced(() => claim.journal('{"late":true}'));
  await fenced(() => claim.putBlob(new Uint8Array([1])));
  claim.event([event(999)]);
  assert.equal(claim.keepValue('"late"'), null, "no value is stored");
  assert.equal(await claim.renew(), false, "the claim is not renewed");
}
