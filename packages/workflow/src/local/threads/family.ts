import type { Relative } from "../../host/host.ts";
import type { Root } from "../../disk/paths.ts";
import type { StartRecord } from "../../record/record.ts";
import { forkFromIn, type ThreadRef, type ThreadRow } from "../../record/thread.ts";
import { readRow } from "./row.ts";
import { LiveWorkers } from "../workers/live.ts";
import { allThreads, findThread, startOf } from "./view.ts";

type Known = { ref: ThreadRef; forkFrom: Relative["forkFrom"] };

/** The threads of a host from which families are computed. */
export type FamilySource = {
  find: (text: string) => Promise<ThreadRef>;
  /** Returns at least the threads connected with a thread by forks. */
  all: (threadId: string) => Promise<ThreadRef[]>;
  start: (ref: ThreadRef) => Promise<StartRecord | null>;
  /** Returns a reader for many rows. */
  rows: () => (ref: ThreadRef) => Promise<ThreadRow | null>;
};

/** The threads of a storage root. */
export const familiesIn = (root: Root): Families =>
  new Families({
    find: (text) => findThread(root, text),
    all: async () => allThreads(root),
    start: async (ref) => startOf(root, ref),
    rows() {
      const live = new LiveWorkers(root);
      return (ref) => readRow(root, ref, live);
    },
  });

/** The forks of a host. A thread's first line never changes, so each is read once. */
export class Families {
  readonly #source: FamilySource;
  #known = new Map<string, Known>();

  constructor(source: FamilySource) {
    this.#source = source;
  }

  /**
   * Returns the family of a thread: the common ancestor and all forks that descend from it, including the thread
   * itself, oldest first. Removed threads are left out; their forks are included.
   *
   * @throws WorkflowError the errors of `findThread`.
   */
  async of(id: string): Promise<Relative[]> {
    const { threadId } = await this.#source.find(id);
    await this.#learn(threadId);
    const first = this.#firstOf(threadId);
    const members = [...this.#known.keys()].filter((other) => this.#firstOf(other) === first);
    const readOne = this.#source.rows();
    const found: Relative[] = [];
    for (const member of members.toSorted()) {
      const known = this.#known.get(member);
      const row = known && (await readOne(known.ref));
      if (!row) continue;
      const { updatedAt: _, ...rest } = row;
      found.push({ ...rest, forkFrom: known.forkFrom });
    }
    return found;
  }

  // An unreadable thread does not belong to a family.
  async #learn(threadId: string): Promise<void> {
    const known = new Map<string, Known>();
    for (const ref of await this.#source.all(threadId)) {
      const before = this.#known.get(ref.threadId);
      const start = before ? null : await this.#source.start(ref);
      const now = before ?? (start && { ref, forkFrom: forkFromIn(start) });
      if (now) known.set(ref.threadId, now);
    }
    this.#known = known;
  }

  // A removed common ancestor still connects its forks.
  #firstOf(threadId: string): string {
    const seen = new Set([threadId]);
    for (let first = threadId; ; ) {
      const from = this.#known.get(first)?.forkFrom?.threadId;
      if (from === undefined || seen.has(from)) return first;
      seen.add(from);
      first = from;
    }
  }
}
