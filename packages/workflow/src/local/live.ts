import type { Alive } from "../client/live.ts";
import type { Root } from "../storage/paths.ts";
import type { ThreadRef } from "../thread/thread.ts";

type Answer = { askedAt: number; threads: Promise<ReadonlyMap<string, Alive>> };

/** How old an answer may be, in milliseconds. */
const freshMs = 250;

/** What the live workers say of their threads, asked once for all who want to know at the time. */
export class LiveThreads {
  readonly #root: Root;
  readonly #answers = new Map<string, Answer>();

  constructor(root: Root) {
    this.#root = root;
  }

  /**
   * What a thread's worker says of it; null when nobody drives it. `since` is when the thread changed
   * last (`performance.now()`): an older answer counts only when it says that the thread is running.
   */
  async find({ hash, threadId }: ThreadRef, since: number): Promise<Alive | null> {
    const known = this.#answers.get(hash);
    if (known && performance.now() - known.askedAt < freshMs) {
      const found = (await known.threads).get(threadId) ?? null;
      if (known.askedAt >= since || found?.status === "running") return found;
    }
    return (await this.#ask(hash).threads).get(threadId) ?? null;
  }

  /** Forgets what a hash's worker said: something was done to its threads. */
  forget(hash: string): void {
    this.#answers.delete(hash);
  }

  #ask(hash: string): Answer {
    const answer = { askedAt: performance.now(), threads: threadsOf(this.#root, hash) };
    this.#answers.set(hash, answer);
    return answer;
  }
}

async function threadsOf(root: Root, hash: string): Promise<ReadonlyMap<string, Alive>> {
  const { askLive } = await import("../client/live.ts");
  const live = await askLive(root, hash);
  const { pid, threads } = live ?? { pid: 0, threads: [] };
  return new Map(threads.map((thread) => [thread.threadId, { ...thread, pid }]));
}
