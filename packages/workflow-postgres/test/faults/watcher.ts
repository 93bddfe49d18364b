import type { Host, ThreadRef } from "@uncaged/workflow/host";

/** An observer of a thread. After a failure, continues from the cursor of the last received item. */
export class Watcher {
  readonly ref: ThreadRef;
  /** The received steps with their numbers. */
  readonly steps: { number: number; text: string }[] = [];
  #isEnded = false;
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;

  constructor(host: Host, ref: ThreadRef) {
    this.ref = ref;
    this.#done = this.#follow(host);
  }

  async #follow(host: Host): Promise<void> {
    const { signal } = this.#stop;
    let cursor: string | undefined;
    while (!signal.aborted && !this.#isEnded) {
      try {
        for await (const item of host.observe(this.ref, cursor, { signal, events: false })) {
          ({ cursor } = item);
          if (item.kind === "step") {
            const { number, step } = item;
            const { role, content, timestamp } = step;
            this.steps.push({ number, text: JSON.stringify({ role, content, timestamp }) });
          }
          if (item.kind === "end") this.#isEnded = true;
        }
      } catch {
        // The database is unavailable.
      }
      await Bun.sleep(100);
    }
  }

  /**
   * Waits until the observer receives the end of the thread, for at most `mostMs` milliseconds. Returns the differences
   * between the received steps and the records of the thread.
   */
  async differences(lines: readonly string[], mostMs = 60_000): Promise<string[]> {
    await Promise.race([this.#done, Bun.sleep(mostMs)]);
    this.#stop.abort();
    const found = this.#isEnded ? [] : ["the observer never received the end"];
    const records = lines.slice(1, -1).map((line, n) => {
      const { role, content, timestamp } = JSON.parse(line);
      return { number: n + 1, text: JSON.stringify({ role, content, timestamp }) };
    });
    const [shown, kept] = [this.steps, records].map((all) => all.map((one) => JSON.stringify(one)));
    const wrong = (shown ?? []).findIndex((text, n) => text !== kept?.[n]);
    if (wrong >= 0) found.push(`the observer received ${shown?.[wrong]} at position ${wrong}`);
    if (this.#isEnded && shown?.length !== kept?.length) {
      found.push(`the observer received ${shown?.length} of ${kept?.length} steps`);
    }
    return found;
  }
}
