import type { Relative } from "../../host/host.ts";
import type { Root } from "../../disk/paths.ts";
import { forkFromIn, type ThreadRef } from "../../record/thread.ts";
import { readRow } from "./list.ts";
import { LiveWorkers } from "../workers/live.ts";
import { allThreads, findThread, startOf } from "./view.ts";

type Known = { ref: ThreadRef; forkFrom: Relative["forkFrom"] };

/** The forks of a storage root. A thread's first line never changes, so that each is read once. */
export class Families {
  readonly #root: Root;
  #known = new Map<string, Known>();

  constructor(root: Root) {
    this.#root = root;
  }

  /**
   * The family of a thread: the first that all come from, and every fork of a fork of it, oldest
   * first, the thread itself included. One that was removed is left out, its forks are not.
   *
   * @throws WorkflowError those of `findThread`.
   */
  async of(id: string): Promise<Relative[]> {
    const { threadId } = await findThread(this.#root, id);
    this.#learn();
    const first = this.#firstOf(threadId);
    const members = [...this.#known.keys()].filter((other) => this.#firstOf(other) === first);
    const live = new LiveWorkers(this.#root);
    const found: Relative[] = [];
    for (const member of members.toSorted()) {
      const known = this.#known.get(member);
      const row = known && (await readRow(this.#root, known.ref, live));
      if (!row) continue;
      const { updatedAt: _, ...rest } = row;
      found.push({ ...rest, forkFrom: known.forkFrom });
    }
    return found;
  }

  // One that can't be read is in no family.
  #learn(): void {
    const known = new Map<string, Known>();
    for (const ref of allThreads(this.#root)) {
      const before = this.#known.get(ref.threadId);
      const start = before ? null : startOf(this.#root, ref);
      const now = before ?? (start && { ref, forkFrom: forkFromIn(start) });
      if (now) known.set(ref.threadId, now);
    }
    this.#known = known;
  }

  // The one before all that was removed is still what its forks have in common.
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
