import type { StoreChange } from "@uncaged/workflow/store";
import type pg from "pg";
import { type Database, promptMs } from "../database/database.ts";

/** How often the table of threads is asked for changes, with and without notifications. */
const slowMs = 5_000;
const fastMs = 250;
/** At most one question per this time. */
const shortestMs = 10;
const retryMs = 1_000;
/** For how long a notification may be on its way before the connection counts as deaf, as behind PgBouncer. */
const deafAfterMs = 3_000;
/** How often the listening connection is tested: a connection that the network has lost is silent. */
const testEveryMs = 15_000;

/** A snapshot in which no transaction is over. */
const everything = "1:1:";

/** A thread that was changed or removed, or the registry (without `thread_id`). */
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
 * Finds the changes of a schema for all watches of a store. It asks for the rows whose last change the snapshot of its
 * last question did not show; notifications only say that it is time to ask. So a lost notification delays a change, and loses
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

  /** Whether notifications arrive: the server's own connections are used, without a pooler. */
  get isHeard(): boolean {
    return this.#isHeard;
  }

  /** Tells the watches of all processes to look for changes, soon. */
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

  /** Adds a listener. Resolves once no later change is missed. */
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

  /** Asks for changes until it is stopped. */
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
        // The next question has what this one would have found.
        await Bun.sleep(retryMs);
        continue;
      }
      await Bun.sleep(shortestMs);
      await Promise.race([ring, delay(this.#isHeard ? slowMs : fastMs, signal)]);
    }
  }

  /** Returns a first snapshot: the changes that it does not show are not yet known. */
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

  /** Keeps a connection that listens, if the server sends notifications to it. */
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
          // A pooler took the statement. Ask often instead, and try again much later.
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

  /** Waits for a while. Returns whether the connection is still open. @throws if it does not answer */
  async #isOpen(client: pg.Client, lost: Promise<void>, signal: AbortSignal): Promise<boolean> {
    const isLost = lost.then(() => true);
    if (await Promise.race([isLost, delay(testEveryMs, signal).then(() => false)])) return false;
    await client.query("SELECT 1");
    return !signal.aborted;
  }

  /** Whether a notification that is sent through the pool arrives here. */
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
 * The rows whose last change is not visible in a snapshot, in the order of the changes, and the snapshot of this
 * question. A transaction that was open then is found once it is over, whatever its number. Rows that a backup of
 * another server has brought may have numbers that are still to come here.
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
