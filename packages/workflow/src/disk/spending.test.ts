import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { system, useSystem } from "../system/system.ts";
import { takeLock } from "./lock.ts";
import { lockPath, type Root, runDir, spendingPath } from "./paths.ts";
import { openRoot } from "./root.ts";
import { type Book, SpendingBook } from "./spending.ts";

const folder = mkdtempSync(join(tmpdir(), "uncaged-spending-"));
const real = useSystem(system);
let now = 0;
let root: Root;
beforeEach(() => {
  now = Date.UTC(2026, 10, 28, 12);
  useSystem({ ...real, clock: { ...real.clock, now: () => now } });
  root = openRoot({ path: mkdtempSync(join(folder, "root-")) });
  mkdirSync(runDir(root));
});
afterAll(() => {
  useSystem(real);
  rmSync(folder, { recursive: true, force: true });
});

const [hash, otherHash] = ["0000000000001", "0000000000002"];
const book = () => JSON.parse(readFileSync(spendingPath(root), "utf8")) as Book;
const bookOf = (of = hash) => new SpendingBook(root, of);

/** Reserves one dollar for a call, and ends the call with its cost. */
async function pay(spending: SpendingBook, call: string, cost: number | null): Promise<void> {
  const reply = await spending.reserve("T", { costPerMonth: 1000 }, { call, least: 0, most: 1 });
  expect(reply).toEqual({ kind: "reserved", amount: 1 });
  await spending.end(call, { cost, tokens: 5 });
}

describe("the spending of a storage root", () => {
  test("is not recorded before a limit is set", async () => {
    const spending = bookOf();
    await spending.begin("T", "a");
    await spending.end("a", { cost: 1, tokens: 1 });
    expect(existsSync(spendingPath(root))).toBe(false);
  });

  test("counts a call once: first its reservation, then its cost, or nothing if it is not made", async () => {
    const spending = bookOf();
    const limits = { costPerDay: 1 };
    const call = { least: 0.1, most: 0.8 };
    expect(await spending.reserve("T", limits, { call: "a", ...call })).toMatchObject({
      amount: 0.8,
    });
    expect(await spending.reserve("T", limits, { call: "b", ...call })).toEqual({ kind: "busy" });
    expect(spending.left(limits)).toBeCloseTo(0.2);
    await spending.begin("T", "a");
    await spending.end("a", { cost: 0.25, tokens: 5 });
    expect(spending.left(limits)).toBe(0.75);
    // A call that alone would exceed the limit reserves only the remainder.
    expect(await spending.reserve("T", limits, { call: "b", ...call })).toMatchObject({
      amount: 0.75,
    });
    await spending.release("b");
    expect(book()).toMatchObject({ days: { "2026-11-28": { cost: 0.25 } }, calls: {} });
  });

  test("counts calls without a known price as unknown", async () => {
    await pay(bookOf(), "a", null);
    expect(book().days).toEqual({ "2026-11-28": { cost: 0, unpriced: 1 } });
  });

  test("restarts with each UTC day and UTC month", async () => {
    const spending = bookOf();
    for (const call of ["a", "b"]) await pay(spending, call, 1);
    const call = { call: "c", least: 0.5, most: 1 };
    const asked = async (limits: object) => {
      const reply = await spending.reserve("T", limits, call);
      await spending.release("c");
      return reply;
    };
    const day = { kind: "spent", limit: "costPerDay", amount: 2, spent: 2 };
    const month = { kind: "spent", limit: "costPerMonth", amount: 2, spent: 2 };
    const [next, december] = [Date.UTC(2026, 10, 29), Date.UTC(2026, 11, 1)];
    expect(await asked({ costPerDay: 2 })).toEqual({ ...day, until: next } as never);
    // Both limits are used up: the thread must wait for the limit that resets later.
    expect(await asked({ costPerDay: 2, costPerMonth: 2 })).toEqual({
      ...month,
      until: december,
    } as never);
    now = next - 1;
    expect(await asked({ costPerDay: 2 })).toMatchObject({ kind: "spent" });
    now = next;
    expect(await asked({ costPerDay: 2 })).toEqual({ kind: "reserved", amount: 1 });
    expect(await asked({ costPerMonth: 2 })).toMatchObject({ kind: "spent" });
    now = december;
    expect(await asked({ costPerDay: 2, costPerMonth: 2 })).toMatchObject({ kind: "reserved" });
  });

  test("keeps the reservations of live workers, and releases the reservations of lost workers", async () => {
    const limits = { costPerDay: 1 };
    const lock = takeLock(lockPath(root, otherHash), 0);
    await bookOf(otherHash).reserve("T", limits, { call: "a", least: 1, most: 1 });
    const next = { call: "b", least: 1, most: 1 };
    expect(await bookOf().reserve("T", limits, next)).toEqual({ kind: "busy" });
    lock?.release();
    expect(await bookOf().reserve("T", limits, next)).toEqual({ kind: "reserved", amount: 1 });
    expect(Object.keys(book().calls)).toEqual(["b"]);
    // The next worker of the same version knows that its predecessor has ended.
    const own = { call: "c", least: 1, most: 1 };
    expect(await bookOf().reserve("T", limits, own)).toMatchObject({ kind: "reserved" });
  });

  test("is never exceeded by concurrent reservations", async () => {
    const books = [bookOf("0000000000003"), bookOf("0000000000004"), bookOf("0000000000005")];
    const locks = ["3", "4", "5"].map((n) => takeLock(lockPath(root, `000000000000${n}`), 0));
    const replies = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        (books[n % 3] as SpendingBook).reserve(
          "T",
          { costPerDay: 1 },
          { call: `${n}`, least: 0.3, most: 0.3 },
        ),
      ),
    );
    for (const lock of locks) lock?.release();
    expect(replies.filter(({ kind }) => kind === "reserved")).toHaveLength(3);
  });
});
