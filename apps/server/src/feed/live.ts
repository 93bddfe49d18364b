import { listLive, type LiveRow, type Root } from "@uncaged/workflow/host";

const freshMs = 400;

/** What the live workers say of their threads, asked once for all who want to know at the time. */
export class LiveThreads {
  readonly #root: Root;
  #answer: Promise<ReadonlyMap<string, LiveRow>> | null = null;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(root: Root) {
    this.#root = root;
  }

  /** The live threads by id, as they were less than half a second ago. */
  now(): Promise<ReadonlyMap<string, LiveRow>> {
    if (this.#answer && performance.now() - this.#askedAt < freshMs) return this.#answer;
    this.#askedAt = performance.now();
    this.#answer = this.#ask();
    return this.#answer;
  }

  async #ask(): Promise<ReadonlyMap<string, LiveRow>> {
    const rows = await listLive(this.#root).catch(() => []);
    return new Map(rows.map((row) => [row.threadId, row]));
  }
}
