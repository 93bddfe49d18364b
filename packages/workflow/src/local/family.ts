import type { Relative } from "../host/host.ts";
import { readStart } from "../log/log.ts";
import { dataPath, type Root } from "../storage/paths.ts";
import type { ThreadRef } from "../thread/thread.ts";
import { readRow } from "./list.ts";
import { LiveWorkers } from "./live.ts";
import { allThreads, findThread } from "./threads.ts";

type Fork = Relative["forkFrom"];

/** The forks of a storage root. A thread's first line never changes, so that each is read once. */
export class Families {
  readonly #root: Root;
  readonly #forks = new Map<string, { ref: ThreadRef; fork: Fork }>();

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
    const members = [...this.#forks.keys()].filter((other) => this.#firstOf(other) === first);
    const live = new LiveWorkers(this.#root);
    const found: Relative[] = [];
    for (const member of members.toSorted()) {
      const known = this.#forks.get(member);
      const row = known && (await readRow(this.#root, known.ref, live));
      if (!known || !row) continue;
      const { updatedAt: _, ...rest } = row;
      found.push({ ...rest, forkFrom: known.fork });
    }
    return found;
  }

  #learn(): void {
    const there = new Set<string>();
    for (const ref of allThreads(this.#root)) {
      there.add(ref.threadId);
      if (this.#forks.has(ref.threadId)) continue;
      const fork = this.#forkOf(ref);
      if (fork !== undefined) this.#forks.set(ref.threadId, { ref, fork });
    }
    for (const threadId of this.#forks.keys()) {
      if (!there.has(threadId)) this.#forks.delete(threadId);
    }
  }

  #forkOf({ hash, threadId }: ThreadRef): Fork | undefined {
    try {
      const start = readStart(dataPath(this.#root, hash, threadId));
      return start ? (start.forkFrom ?? null) : undefined;
    } catch {
      // Removed in between, or not readable: it is in no family then.
      return undefined;
    }
  }

  // The one before all that was removed is still what its forks have in common.
  #firstOf(threadId: string): string {
    const seen = new Set([threadId]);
    for (let first = threadId; ; ) {
      const from = this.#forks.get(first)?.fork?.threadId;
      if (from === undefined || seen.has(from)) return first;
      seen.add(from);
      first = from;
    }
  }
}
