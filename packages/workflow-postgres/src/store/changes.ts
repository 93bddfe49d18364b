import type { StoreChange } from "@uncaged/workflow/store";
import type pg from "pg";
import { type Database, promptMs } from "../database/database.ts";

/** Intervals between queries for changes: with notifications and without notifications, in milliseconds. */
const slowMs = 5_000;
const fastMs = 250;
/** Minimum time between two queries, in milliseconds. */
const shortestMs = 10;
const retryMs = 1_000;
/** Maximum delay of the first notification. After it, notifications count as unavailable, as behind PgBouncer. */
const deafAfterMs = 3_000;
/** Interval between tests of the listening connection: a lost connection may report no error. */
const testEveryMs = 15_000;

/** A snapshot that shows no transaction as committed. */
const everything = "1:1:";

/** A changed or removed thread, or the registry (without `thread_id`). */
type Changed = {
  snapshot: string;
  kind: "thread" | "removed" | "registry" | "none";
  thread_id: string | null;
  hash: string;
  fence: number | null;
};

/** Returns the channel of a schema's notifications. */
export const channelOf = ({ address }: Pick<Database, "address">): string =>
  `uncaged_${address.schema}`;

export type Listener = {
  onChange: (change: StoreChange & { fence?: number | null }) => void;
  onError: (error: unknown) => void;
};

/**
 * Finds the changes of a schema for all watches of a store. Queries the rows whose last change was invisible in the
 * snapshot of the previous query. Notifications only trigger a query, so a lost notification delays a change but loses
 * none.
 */
export class Changes {
  readonly #database: Database;
  readonly #channel: string;
  readonly #sql: string;
  readonly #listeners = new Set<Listener>();
  #stop: AbortController | null = null;
  #ring = Promise.withResolvers<void>();
  #isHeard = false;
  #notes = { isSending: false, isWanted: false };

  constructor(database: Database) {
    this.#database = database;
    this.#channel = channelOf(database);
    this.#sql = question(database.schema);
  }

  /** Whether notifications arrive, which requires connections to the server without a pooler. */
  get isHeard(): boolean {
    return this.#isHeard;
  }

  /** Makes the watches of all processes query for changes. Does not wait for the notification. */
  notify(): void {
    const notes = this.#notes;
    notes.isWanted = true;
    this.#look();
    if (notes.isSending) return;
    notes.isSending = true;
    void (async () => {
      while (notes.isWanted) {
        notes.isWanted = false;
        // A lost notification only delays a watch.
        await this.#database
          .query("SELECT pg_notify($1, '')", [this.#channel], promptMs)
          .catch(() => undefined);
        await Bun.sleep(shortestMs);
      }
      notes.isSending = false;
    })();
  }

  /** Adds a listener. Resolves when the listener will get all later changes. */
  async add(listener: Listener): Promise<void> {
    if (this.#stop === null) {
      this.#stop = new AbortController();
      const { signal } = this.#stop;
      this.#started = Promise.withResolvers();
      void this.#ask(signal);
      void this.#listen(signal);
    }
    this.#listeners.add(listener);
    await this.#started.promise;
  }

  #started = Promise.withResolvers<void>();

  remove(listener: Listener): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size > 0) return;
    this.#stop?.abort();
    this.#stop = null;
    this.#look();
  }

  #look(): void {
    const { resolve } = this.#ring;
    this.#ring = Promise.withResolvers();
    resolve();
  }

  /** Queries changes until the signal aborts. */
  async #ask(signal: AbortSignal): Promise<void> {
    let last = await this.#first(signal);
    this.#started.resolve();
    while (!signal.aborted) {
      const ring = this.#ring.promise;
      try {
        const rows = await this.#database.query<Changed>(this.#sql, [last], promptMs);
        if (signal.aborted) return;
        last = rows[0]?.snapshot ?? last;
        for (const row of rows) this.#report(row);
      } catch {
        // The next query finds the same changes.
        await Bun.sleep(retryMs);
        continue;
      }
      await Bun.sleep(shortestMs);
      await Promise.race([ring, delay(this.#isHeard ? slowMs : fastMs, signal)]);
    }
  }

  /** Returns a first snapshot. Later queries find the changes that are invisible in it. */
  async #first(signal: AbortSignal): Promise<string> {
    for (;;) {
      try {
        const [row] = await this.#database.query<{ snapshot: string }>(
          "SELECT pg_current_snapshot()::text AS snapshot",
          [],
          promptMs,
        );
        return row?.snapshot ?? everything;
      } catch (error) {
        for (const { onError } of [...this.#listeners]) onError(error);
        if (signal.aborted) return everything;
        await Bun.sleep(retryMs);
      }
    }
  }

  #report({ kind, thread_id: threadId, hash, fence }: Changed): void {
    for (const { onChange } of [...this.#listeners]) {
      if (kind === "registry") onChange({ kind: "registry" });
      else if (kind !== "none" && threadId !== null) {
        onChange({ kind, ref: { hash, threadId }, fence });
      }
    }
  }

  /** Keeps a listening connection open if the server sends notifications to it. */
  async #listen(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const client = this.#database.client();
      const lost = Promise.withResolvers<void>();
      client.on("error", () => lost.resolve());
      client.on("end", () => lost.resolve());
      const stop = () => lost.resolve();
      signal.addEventListener("abort", stop);
      try {
        await client.connect();
        await client.query(`LISTEN "${this.#channel}"`);
        if (await this.#hears(client, lost.promise)) {
          this.#isHeard = true;
          this.#look();
          while (await this.#isOpen(client, lost.promise, signal));
        } else {
          // A pooler intercepts LISTEN. Query often instead, and try to listen again later.
          await Promise.race([lost.promise, delay(60_000, signal)]);
        }
      } catch {
        await delay(retryMs, signal);
      } finally {
        this.#isHeard = false;
        signal.removeEventListener("abort", stop);
        void client.end().catch(() => undefined);
      }
    }
  }

  /** Waits, then tells whether the connection is still open. @throws if it does not respond */
  async #isOpen(client: pg.Client, lost: Promise<void>, signal: AbortSignal): Promise<boolean> {
    const isLost = lost.then(() => true);
    if (await Promise.race([isLost, delay(testEveryMs, signal).then(() => false)])) return false;
    await client.query("SELECT 1");
    return !signal.aborted;
  }

  /** Tells whether a connection receives a notification that the pool sends. */
  async #hears(client: pg.Client, lost: Promise<void>): Promise<boolean> {
    const heard = Promise.withResolvers<boolean>();
    client.on("notification", () => {
      heard.resolve(true);
      this.#look();
    });
    await this.#database.query("SELECT pg_notify($1, '')", [this.#channel]);
    return await Promise.race([
      heard.promise,
      lost.then(() => false),
      Bun.sleep(deafAfterMs).then(() => false),
    ]);
  }
}

async function delay(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  signal.addEventListener("abort", () => resolve(), { once: true });
  await promise;
  clearTimeout(timer);
}

/**
 * Returns the query for a new snapshot, and for the rows whose last change is invisible in an earlier snapshot, in the
 * order of the changes. It finds the changes of a transaction that was open in the earlier snapshot after the
 * transaction has ended. It skips transaction numbers of the future, which a backup of another server may contain.
 */
const question = (schema: string): string => {
  const isNew = `changed >= pg_snapshot_xmin($1::pg_snapshot)
    AND NOT pg_visible_in_snapshot(changed, $1::pg_snapshot)
    AND changed < pg_snapshot_xmax(pg_current_snapshot())`;
  return `
  WITH found AS (
    SELECT 'thread' AS kind, thread_id, hash, fence, changed FROM ${schema}.threads WHERE ${isNew}
    UNION ALL
    SELECT 'removed', thread_id, hash, NULL, changed FROM ${schema}.removals WHERE ${isNew}
    UNION ALL
    SELECT 'registry', NULL, '', NULL, changed FROM ${schema}.registry WHERE ${isNew}
    UNION ALL
    SELECT 'none', NULL, '', NULL, NULL
  )
  SELECT pg_current_snapshot()::text AS snapshot, kind, thread_id, hash, fence FROM found ORDER BY found.changed`;
};
