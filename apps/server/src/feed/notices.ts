import {
  allThreads,
  listLive,
  type LiveRow,
  listWorkflows,
  readRow,
  type Root,
  type ThreadRef,
} from "@uncaged/workflow/host";
import type { StoreEvents } from "../shape/event.ts";
import { Changes } from "./changes.ts";
import { eventBytes, heartbeatEveryMs } from "./frame.ts";
import type { LiveThreads } from "./live.ts";
import type { Wake } from "./wake.ts";

const listEveryMs = 2_000;
const mostKept = 5_000;

type Bytes = Uint8Array<ArrayBuffer>;
type Told = Pick<StoreEvents, "thread" | "removed" | "workflows">;
/** A thread as it was told of last; `live` when a worker said that it drives it. */
type Seen = { ref: ThreadRef; steps: number; status: string | null; live: boolean };

/** Tells how things stand: `bytes` with an id, `bare` for streams whose ids are of another kind. */
export type Notice = { name: keyof Told; at: number; bytes: Bytes; bare: Bytes };

/**
 * What changes in a storage root, for all who watch it now: a thread is born, has a new step or another
 * status, is removed; a name points elsewhere. It looks while somebody watches, and not otherwise.
 *
 * No log tells of a removal, of a pause, or of a worker that is gone. A notice's id is the time of it:
 * one who was away learns what was told since, as far as somebody watched and it is still kept.
 */
export class Notices {
  readonly #root: Root;
  readonly #live: LiveThreads;
  readonly #wake: Wake;
  readonly #changes: Changes;
  readonly #seen = new Map<string, Seen>();
  #watchers = 0;
  #kept: Notice[] = [];
  #first = 0;
  /** The time of the newest notice, and that up to which notices are lost. */
  #newestAt = 0;
  #lostAt = 0;
  #begun: Promise<void> = Promise.resolve();
  #looking = false;
  #listedAt = Number.NEGATIVE_INFINITY;
  #names = "";

  constructor(root: Root, live: LiveThreads, wake: Wake) {
    this.#root = root;
    this.#live = live;
    this.#wake = wake;
    this.#changes = new Changes(root);
  }

  /** Begins to watch; ends with the function that it gives. */
  watch(): () => void {
    this.#watchers += 1;
    if (!this.#looking) {
      this.#looking = true;
      this.#lostAt = this.#newTime();
      this.#newTime();
      this.#begun = this.#begin().catch(() => undefined);
      void this.#keepLooking();
    }
    return () => {
      this.#watchers -= 1;
    };
  }

  /** Resolves when it is known what there is: who reads the lists then misses nothing that comes after. */
  get begun(): Promise<void> {
    return this.#begun;
  }

  /** The number of the notice that comes next. */
  get next(): number {
    return this.#first + this.#kept.length;
  }

  /** The id of the newest notice. */
  get id(): string {
    return String(this.#newestAt);
  }

  at(number: number): Notice | undefined {
    return this.#kept[number - this.#first];
  }

  /** Whether the notice with this number is still kept, or is yet to come. */
  reaches(number: number): boolean {
    return number >= this.#first;
  }

  /** The number of the first notice after a time, or null when not all since then are known. */
  since(time: number): number | null {
    if (time < this.#lostAt || time > Math.max(this.#newestAt, Date.now())) return null;
    return this.#first + this.#kept.findLastIndex(({ at }) => at <= time) + 1;
  }

  // No two notices have the same time: it is their id.
  #newTime(): number {
    this.#newestAt = Math.max(Date.now(), this.#newestAt + 1);
    return this.#newestAt;
  }

  async #keepLooking(): Promise<void> {
    this.#changes.open();
    await this.#begun;
    let beatAt = performance.now() + heartbeatEveryMs;
    while (this.#watchers > 0) {
      const before = this.next;
      // A storage root that can't be read now may be read the next time.
      await this.#look().catch(() => undefined);
      const beats = performance.now() >= beatAt;
      if (beats) beatAt = performance.now() + heartbeatEveryMs;
      if (beats || this.next > before) this.#wake.ring();
      await this.#changes.pause();
    }
    this.#changes.close();
    this.#seen.clear();
    // From here on nobody looks: what changes now is lost.
    this.#first = this.next;
    this.#kept = [];
    this.#looking = false;
  }

  #add<Name extends keyof Told>(name: Name, data: Told[Name]): void {
    const at = this.#newTime();
    const bytes = eventBytes(name, data, String(at));
    this.#kept.push({ name, at, bytes, bare: eventBytes(name, data) });
    if (this.#kept.length <= mostKept * 2) return;
    this.#lostAt = this.#kept[mostKept - 1]?.at ?? at;
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
    const changed = this.#changes.take();
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
