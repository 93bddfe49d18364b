import { beginning, type Position, type Root, type ThreadRef } from "@uncaged/workflow/host";
import { Feed } from "./feed.ts";
import { Listener } from "./listener.ts";
import type { LiveThreads } from "./live.ts";

/** The feeds of the threads that somebody listens to now: one each. */
export class Feeds {
  readonly #root: Root;
  readonly #live: LiveThreads;
  readonly #feeds = new Map<string, { feed: Feed; listeners: number }>();

  constructor(root: Root, live: LiveThreads) {
    this.#root = root;
    this.#live = live;
  }

  /** How many threads are read now. */
  get size(): number {
    return this.#feeds.size;
  }

  /**
   * Begins to listen to a thread, behind a position.
   *
   * @throws WorkflowError `BAD_POSITION` (usage).
   */
  listen(ref: ThreadRef, from: Position = beginning): Listener {
    const { threadId } = ref;
    const known = this.#feeds.get(threadId);
    const entry = known ?? { feed: new Feed(this.#root, ref, from, this.#live), listeners: 0 };
    const listener = new Listener(entry.feed, from, () => {
      entry.listeners -= 1;
      if (entry.listeners > 0) return;
      this.#feeds.delete(threadId);
      entry.feed.close();
    });
    this.#feeds.set(threadId, entry);
    entry.listeners += 1;
    return listener;
  }
}
