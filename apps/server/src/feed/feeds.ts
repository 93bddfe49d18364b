import { beginning, type Position, type Root, type ThreadRef } from "@uncaged/workflow/host";
import { Feed } from "./feed.ts";
import { threadVoice } from "./frame.ts";
import { Listener } from "./listener.ts";
import type { LiveThreads } from "./live.ts";
import type { Speak } from "./voice.ts";

/** How one listens: in whose voice, and behind which `seq` where that voice numbers what it tells. */
type Listening = { speak?: Speak; after?: number };

/** The feeds of the threads that somebody listens to now: one each, for each voice. */
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
  listen(
    ref: ThreadRef,
    from: Position = beginning,
    { speak = threadVoice, after }: Listening = {},
  ): Listener {
    const voice = speak(this.#root, ref);
    const key = `${voice.name} ${ref.threadId}`;
    const known = this.#feeds.get(key);
    const made = () => new Feed(this.#root, ref, from, this.#live, voice);
    const entry = known ?? { feed: made(), listeners: 0 };
    const close = () => {
      entry.listeners -= 1;
      if (entry.listeners > 0) return;
      this.#feeds.delete(key);
      entry.feed.close();
    };
    const listener = new Listener(entry.feed, from, close, after);
    this.#feeds.set(key, entry);
    entry.listeners += 1;
    return listener;
  }
}
