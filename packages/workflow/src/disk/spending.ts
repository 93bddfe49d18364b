/*
 * Owns: `run/spending.json`, the spending of a storage root's threads by day, and the model calls in flight.
 *
 * M1 The file is a cache of the logs. When it is missing or unreadable, it is rebuilt from the logs (spent-in-logs.ts).
 * M2 While the file exists, it has each call before the call is made, and the call's cost when the call has ended: a
 *    call is either in flight or counted.
 * M3 Each change replaces the whole file under its lock, and is durable before the lock is released.
 * M4 A call in flight whose worker has ended counts with the cost in its thread's journal.
 * M5 A call counts on the UTC day on which it ends.
 */
import { isRecord } from "../contract/show.ts";
import type { CallToPay, RootLimits, SpentLimit } from "../contract/spending.ts";
import { readAmount } from "../contract/usage.ts";
import { addCost } from "../record/spending.ts";
import type { ThreadRef } from "../record/thread.ts";
import { system } from "../system/system.ts";
import { readOwnFile, writeFileLater } from "./files.ts";
import { takeLock, waitForLock } from "./lock.ts";
import { lockPath, type Root, spendingLockPath, spendingPath } from "./paths.ts";
import { journalCall, spentInLogs } from "./spent-in-logs.ts";

/** US dollars, and the number of calls without a known price. */
type Spent = { cost: number; unpriced: number };
type Flying = ThreadRef & { cost: number };

/** The content of `run/spending.json`. */
export type Book = {
  version: 1;
  /** Spending by UTC day, such as `2026-11-28`. */
  days: Record<string, Spent>;
  /** Calls in flight and their reservations, by id. */
  calls: Record<string, Flying>;
  /** Calls found in the logs when the book was built, whose workers will also report them. */
  found: string[];
};

const mostBytes = 64 * 1024 * 1024;
const dayMs = 86_400_000;
/** Maximum time in milliseconds between the end of a call and its count by the worker. */
const soonMs = 60_000;
const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

/** Usage of a call: its cost in US dollars, null when the price is unknown, and its tokens. */
export type Paid = { cost: number | null; tokens: number };

/** Result of a reservation: a `RootReservation` without the file that sets a used-up limit. */
type Reservation =
  | { kind: "reserved"; amount: number }
  | { kind: "busy" }
  | ({ kind: "spent" } & SpentLimit);

/** The spending of a storage root, for the worker of one hash. */
export class SpendingBook {
  readonly #root: Root;
  readonly #hash: string;
  /** The ids of calls of this process in flight. */
  readonly #own = new Set<string>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(root: Root, hash: string) {
    this.#root = root;
    this.#hash = hash;
  }

  /** Whether spending is recorded, which starts when the first limit is set. */
  get isKept(): boolean {
    return system.files.exists(spendingPath(this.#root));
  }

  /**
   * Returns the unreserved remainder of the limits. Reads without the lock, because the value may change at any time.
   */
  left(limits: RootLimits): number {
    const book = this.#read() ?? emptyBook();
    return Math.max(0, roomIn(book, limits).room - reservedIn(book));
  }

  /** Reserves the cost of a call. @throws WorkflowError the errors of the disk */
  async reserve(threadId: string, limits: RootLimits, call: CallToPay): Promise<Reservation> {
    this.#own.add(call.call);
    const reply = await this.#change((book) => {
      let answer = reservation(book, limits, call);
      if (answer.kind !== "reserved" && this.#countLost(book)) {
        answer = reservation(book, limits, call);
      }
      if (answer.kind === "reserved") {
        book.calls[call.call] = { hash: this.#hash, threadId, cost: answer.amount };
      }
      return answer;
    });
    if (reply.kind !== "reserved") this.#own.delete(call.call);
    return reply;
  }

  /** Records the start of a call, also of a call without a reservation. */
  async begin(threadId: string, call: string): Promise<void> {
    this.#own.add(call);
    if (!this.isKept) return;
    await this.#change((book) => {
      book.calls[call] ??= { hash: this.#hash, threadId, cost: 0 };
    });
  }

  /** Records the end of a call and its cost. */
  async end(call: string, { cost, tokens }: Paid): Promise<void> {
    if (!this.isKept) return void this.#own.delete(call);
    await this.#change((book) => {
      this.#own.delete(call);
      delete book.calls[call];
      if (book.found.includes(call)) book.found = book.found.filter((id) => id !== call);
      else count(book, system.clock.now(), cost, tokens);
    });
  }

  /** Forgets a call that was not made. */
  async release(call: string): Promise<void> {
    this.#own.delete(call);
    if (!this.isKept) return;
    await this.#change((book) => {
      delete book.calls[call];
    });
  }

  /** Applies changes one after the other. @throws WorkflowError the errors of the disk */
  #change<T>(act: (book: Book) => T): Promise<T> {
    const changed = this.#last.then(() => this.#locked(act));
    this.#last = changed.catch(() => undefined);
    return changed;
  }

  async #locked<T>(act: (book: Book) => T): Promise<T> {
    const lock = await waitForLock(spendingLockPath(this.#root), () => undefined);
    try {
      const known = this.#read();
      const book = known ?? (await this.#fromLogs());
      const before = JSON.stringify(known);
      const result = act(book);
      const text = JSON.stringify(book);
      if (text !== before) await writeFileLater(spendingPath(this.#root), text);
      return result;
    } finally {
      lock.release();
    }
  }

  #read(): Book | null {
    const bytes = readOwnFile(spendingPath(this.#root), mostBytes);
    return bytes && bookIn(Buffer.from(bytes).toString("utf8"));
  }

  // Rebuilds the book from the logs (M1).
  async #fromLogs(): Promise<Book> {
    const now = system.clock.now();
    const book = emptyBook();
    const month = Date.parse(`${dayOf(now).slice(0, 7)}-01T00:00:00Z`);
    for await (const { at, cost, tokens, call } of spentInLogs(this.#root, month)) {
      if (call?.state === "open") book.calls[call.id] = { ...call.of, cost: cost ?? 0 };
      else count(book, at, cost, tokens);
      if (call && call.state !== "open" && at >= now - soonMs) book.found.push(call.id);
    }
    this.#countLost(book);
    return book;
  }

  // Counts calls in flight whose workers have ended (M4). Returns false without such calls.
  #countLost(book: Book): boolean {
    const gone = new Map<string, boolean>();
    const isGone = (hash: string): boolean => {
      const known = gone.get(hash) ?? (hash === this.#hash || this.#isFree(hash));
      gone.set(hash, known);
      return known;
    };
    let hasCounted = false;
    for (const [call, { hash, threadId }] of Object.entries(book.calls)) {
      if (this.#own.has(call) || !isGone(hash)) continue;
      hasCounted = true;
      delete book.calls[call];
      const paid = journalCall(this.#root, { hash, threadId }, call);
      if (paid) count(book, paid.at, paid.cost, paid.tokens);
    }
    return hasCounted;
  }

  /** Returns whether no worker of a hash is running: a running worker holds the hash's lock. */
  #isFree(hash: string): boolean {
    const lock = takeLock(lockPath(this.#root, hash), 0);
    lock?.release();
    return lock !== null;
  }
}

const emptyBook = (): Book => ({ version: 1, days: {}, calls: {}, found: [] });

function count(book: Book, at: number, cost: number | null, tokens: number): void {
  const day = dayOf(at);
  const { cost: before, unpriced } = book.days[day] ?? { cost: 0, unpriced: 0 };
  const isUnpriced = cost === null && tokens > 0;
  book.days[day] = {
    cost: addCost(before, cost ?? 0) ?? before,
    unpriced: unpriced + Number(isUnpriced),
  };
  const oldest = dayOf(at - 62 * dayMs);
  for (const one of Object.keys(book.days)) if (one < oldest) delete book.days[one];
}

const reservedIn = ({ calls }: Book): number =>
  Object.values(calls).reduce((sum, { cost }) => addCost(sum, cost) ?? sum, 0);

/** Unreserved remainder of a limit, and the time of its reset. */
type Room = SpentLimit & { room: number };

/** Returns the limit with the smallest remainder; if both limits are used up, the monthly limit, which resets later. */
function roomIn({ days }: Book, { costPerDay, costPerMonth }: RootLimits): Room {
  const now = system.clock.now();
  const today = dayOf(now);
  const date = new Date(now);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  const roomOf = (
    limit: keyof RootLimits,
    amount: number | undefined,
    period: string,
    until: number,
  ): Room[] => {
    if (amount === undefined) return [];
    const spent = Object.entries(days)
      .filter(([day]) => day.startsWith(period))
      .reduce((sum, [, { cost }]) => addCost(sum, cost) ?? sum, 0);
    return [{ limit, amount, spent, room: addCost(amount, -spent) ?? 0, until }];
  };
  const rooms = [
    ...roomOf("costPerMonth", costPerMonth, today.slice(0, 7), Date.UTC(year, month + 1, 1)),
    ...roomOf("costPerDay", costPerDay, today, Date.UTC(year, month, date.getUTCDate() + 1)),
  ];
  const none: Room = {
    ...{ limit: "costPerDay", amount: Infinity, spent: 0 },
    ...{ room: Infinity, until: now },
  };
  return rooms.reduce((least, one) => (one.room < Math.max(least.room, 0) ? one : least), none);
}

function reservation(
  book: Book,
  limits: RootLimits,
  { call, least, most }: CallToPay,
): Reservation {
  const { [call]: _, ...calls } = book.calls;
  const { room, ...limit } = roomIn(book, limits);
  if (room <= 0 || room < least) return { kind: "spent", ...limit };
  const reserved = reservedIn({ ...book, calls });
  const left = addCost(room, -reserved) ?? 0;
  const wanted = Math.min(most, room);
  if (left >= wanted) return { kind: "reserved", amount: wanted };
  // Commands have tiny reservations for a long time: do not wait for their release.
  if (reserved < wanted / 10 && left >= least) return { kind: "reserved", amount: left };
  return { kind: "busy" };
}

/** Parses the book; null when it is invalid. */
function bookIn(text: string): Book | null {
  let value: unknown;
  try {
    value = JSON.parse(text) as unknown;
  } catch {
    return null;
  }
  if (!isRecord(value) || value.version !== 1) return null;
  const { days, calls, found } = value;
  if (!isRecord(days) || !isRecord(calls) || !Array.isArray(found)) return null;
  const isCounted = (one: unknown): boolean =>
    isRecord(one) && readAmount(one.cost) !== null && readAmount(one.unpriced) !== null;
  const isFlying = (one: unknown): boolean =>
    isRecord(one) &&
    readAmount(one.cost) !== null &&
    typeof one.hash === "string" &&
    typeof one.threadId === "string";
  const isSound =
    Object.values(days).every(isCounted) &&
    Object.values(calls).every(isFlying) &&
    found.every((id) => typeof id === "string");
  return isSound ? (value as Book) : null;
}
