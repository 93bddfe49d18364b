import { type Root, StoreWatch, type ThreadRef } from "@uncaged/workflow/host";

const mostOftenMs = 100;
const lookEveryMs = 500;

/** The threads that have changed, for one who looks at them in turns, while it is open. */
export class Changes {
  readonly #root: Root;
  readonly #events: boolean;
  readonly #threads = new Map<string, ThreadRef>();
  #watch: StoreWatch | null = null;
  #change = Promise.withResolvers<void>();

  /** With `events` those whose debug log has changed too. */
  constructor(root: Root, { events = false }: { events?: boolean } = {}) {
    this.#root = root;
    this.#events = events;
  }

  open(): void {
    const onThread = (ref: ThreadRef) => {
      this.add(ref);
      this.wake();
    };
    this.#watch = new StoreWatch(this.#root, onThread, { events: this.#events });
  }

  close(): void {
    this.#watch?.close();
    this.#watch = null;
    this.#threads.clear();
  }

  add(ref: ThreadRef): void {
    this.#threads.set(ref.threadId, ref);
  }

  /** Those that have changed since they were taken last. */
  take(): ThreadRef[] {
    const threads = [...this.#threads.values()];
    this.#threads.clear();
    return threads;
  }

  /** Ends the pause. */
  wake(): void {
    this.#change.resolve();
  }

  /** The pause between two turns: until something has changed, but from 0.1 to 0.6 seconds. */
  async pause(): Promise<void> {
    await Bun.sleep(mostOftenMs);
    await Promise.race([this.#change.promise, Bun.sleep(lookEveryMs)]);
    this.#change = Promise.withResolvers<void>();
    this.#watch?.ensure();
  }
}
