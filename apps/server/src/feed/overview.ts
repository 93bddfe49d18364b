import {
  allThreads,
  listLive,
  type LiveRow,
  listWorkflows,
  readRow,
  type Root,
  StoreWatch,
  type ThreadRef,
} from "@uncaged/workflow/host";
import type { StoreEvents } from "../shape/event.ts";
import { eventBytes, greeting, heartbeat } from "./frame.ts";
import type { LiveThreads } from "./live.ts";
import type { Source } from "./streams.ts";

const lookEveryMs = 500;
const mostOftenMs = 100;
const listEveryMs = 2_000;
const beatEveryMs = 15_000;
const mostKept = 5_000;

type Bytes = Uint8Array<ArrayBuffer>;
/** A thread as it was told of last; `live` when a worker said that it drives it. */
type Seen = { ref: ThreadRef; steps: number; status: string | null; live: boolean };

/**
 * What changes in a storage root, for all who watch it now: a thread is born, has a new step or another
 * status, is removed; a name points elsewhere. It looks while somebody watches, and not otherwise.
 *
 * There is no one log to have a position in: an event's id is this server's start and a number, and one
 * who comes back with an id that is no longer known is told to read the lists anew.
 */
export class Overview {
  readonly #root: Root;
  readonly #live: LiveThreads;
  readonly #era = Date.now().toString(36);
  readonly #seen = new Map<string, Seen>();
  readonly #watchers = new Set<object>();
  #kept: Bytes[] = [];
  #first = 0;
  #wake = Promise.withResolvers<void>();
  #change = Promise.withResolvers<void>();
  readonly #changed = new Map<string, ThreadRef>();
  #begun: Promise<void> = Promise.resolve();
  #looking = false;
  #listedAt = Number.NEGATIVE_INFINITY;
  #names = "";

  constructor(root: Root, live: LiveThreads) {
    this.#root = root;
    this.#live = live;
  }

  /** Begins to watch, behind the event with an id. */
  watch(lastEventId: string | undefined): Source {
    const me = {};
    const at = this.#placeOf(lastEventId);
    const place = at ?? this.#next;
    const ready = eventBytes("ready", { missed: at === null }, this.#idOf(place - 1));
    this.#watchers.add(me);
    if (!this.#looking) {
      this.#looking = true;
      this.#begun = this.#begin().catch(() => undefined);
      void this.#keepLooking();
    }
    return this.#source(me, place, ready);
  }

  get #next(): number {
    return this.#first + this.#kept.length;
  }

  #idOf(number: number): string {
    return `${this.#era}.${number}`;
  }

  /** The number behind an id's, or null when what came behind it is not known any more. */
  #placeOf(id: string | undefined): number | null {
    const [, era, number] = /^([0-9a-z]{1,16})\.(-1|\d{1,15})$/.exec(id ?? "") ?? [];
    const place = Number(number) + 1;
    const isKnown = era === this.#era && place >= this.#first && place <= this.#next;
    return isKnown && this.#looking ? place : null;
  }

  #source(me: object, from: number, ready: Bytes): Source {
    const pending = [greeting, ready];
    let next = from;
    let sentAt = performance.now();
    let waits = false;
    const take = (): Bytes | null => {
      const first = pending.shift();
      if (first) return first;
      if (next < this.#first) {
        next = this.#next;
        return eventBytes("ready", { missed: true }, this.#idOf(next - 1));
      }
      const bytes = this.#kept[next - this.#first];
      if (bytes) next += 1;
      return bytes ?? (performance.now() - sentAt >= beatEveryMs ? heartbeat : null);
    };
    return {
      next: async () => {
        waits = true;
        for (;;) {
          // Who reads the lists when it is ready must miss nothing that comes after.
          await this.#begun;
          if (!this.#watchers.has(me)) return null;
          const bytes = take();
          if (bytes) {
            waits = false;
            sentAt = performance.now();
            return bytes;
          }
          await this.#wake.promise;
        }
      },
      close: () => {
        this.#watchers.delete(me);
      },
      get stalledMs() {
        return waits ? 0 : performance.now() - sentAt;
      },
    };
  }

  async #keepLooking(): Promise<void> {
    const watch = new StoreWatch(this.#root, (ref) => {
      this.#changed.set(ref.threadId, ref);
      this.#change.resolve();
    });
    await this.#begun;
    let beatAt = performance.now() + beatEveryMs;
    while (this.#watchers.size > 0) {
      const before = this.#next;
      this.#change = Promise.withResolvers<void>();
      watch.ensure();
      // A storage root that can't be read now may be read the next time.
      await this.#look().catch(() => undefined);
      const beats = performance.now() >= beatAt;
      if (beats) beatAt = performance.now() + beatEveryMs;
      if (beats || this.#next > before) this.#tell();
      await Bun.sleep(mostOftenMs);
      await Promise.race([this.#change.promise, Bun.sleep(lookEveryMs)]);
    }
    watch.close();
    this.#seen.clear();
    this.#changed.clear();
    // From here on nobody looks: an id from before must not be taken for one that missed nothing.
    this.#first = this.#next + 1;
    this.#kept = [];
    this.#looking = false;
    this.#tell();
  }

  #tell(): void {
    const { resolve } = this.#wake;
    this.#wake = Promise.withResolvers<void>();
    resolve();
  }

  #add<Name extends keyof StoreEvents>(name: Name, data: StoreEvents[Name]): void {
    this.#kept.push(eventBytes(name, data, this.#idOf(this.#next)));
    if (this.#kept.length <= mostKept * 2) return;
    this.#kept = this.#kept.slice(mostKept);
    this.#first += mostKept;
  }

  /** Learns what there is, and tells nothing of it: who watches has read the lists, or will. */
  async #begin(): Promise<void> {
    for (const ref of allThreads(this.#root)) {
      this.#seen.set(ref.threadId, { ref, steps: -1, status: null, live: false });
    }
    // One that was live a moment ago may be dead by now, and nothing would tell of it again.
    for (const ref of await listLive(this.#root)) {
      const { threadId, steps, status } = ref;
      this.#seen.set(threadId, { ref, steps, status, live: true });
    }
    this.#names = await this.#readNames();
    this.#listedAt = performance.now();
  }

  async #look(): Promise<void> {
    const live = await this.#live.now();
    const changed = [...this.#changed.values()];
    this.#changed.clear();
    for (const row of live.values()) await this.#lookAtLive(row);
    for (const seen of this.#seen.values()) {
      if (seen.live && !live.has(seen.ref.threadId)) await this.#show(seen.ref, false);
    }
    for (const ref of changed) await this.#show(ref, live.has(ref.threadId));
    if (performance.now() - this.#listedAt < listEveryMs) return;
    this.#listedAt = performance.now();
    await this.#list();
  }

  async #lookAtLive(row: LiveRow): Promise<void> {
    const seen = this.#seen.get(row.threadId);
    if (seen?.steps === row.steps && seen.status === row.status) seen.live = true;
    else await this.#show(row, true);
  }

  /** Tells how a thread stands now, when that is news. */
  async #show(ref: ThreadRef, live: boolean): Promise<void> {
    const row = await readRow(this.#root, ref).catch(() => null);
    if (!row) return;
    const { threadId, hash, steps, status } = row;
    const seen = this.#seen.get(threadId);
    const driven = live || status === "running" || status === "paused";
    this.#seen.set(threadId, { ref: { threadId, hash }, steps, status, live: driven });
    if (seen?.steps !== steps || seen.status !== status) this.#add("thread", row);
  }

  async #list(): Promise<void> {
    const there = new Set<string>();
    for (const ref of allThreads(this.#root)) {
      there.add(ref.threadId);
      if (!this.#seen.has(ref.threadId)) await this.#show(ref, false);
    }
    for (const threadId of this.#seen.keys()) {
      if (there.has(threadId)) continue;
      this.#seen.delete(threadId);
      this.#add("removed", { threadId });
    }
    const names = await this.#readNames();
    if (names !== this.#names) this.#add("workflows", {});
    this.#names = names;
  }

  async #readNames(): Promise<string> {
    const rows = await listWorkflows(this.#root).catch(() => []);
    return rows.map(({ name, hash, timestamp }) => `${name} ${hash} ${timestamp}`).join("\n");
  }
}
