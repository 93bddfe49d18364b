import { system } from "../system/system.ts";

/**
 * Waits for changes of files. Each wait starts to watch files that were missing before. Every wait has a timeout,
 * because some file systems do not report changes.
 */
export class FileWatch {
  readonly #signal: AbortSignal | undefined;
  readonly #watchers = new Map<string, ReturnType<typeof watchFile>>();
  #change = Promise.withResolvers<void>();
  readonly #ring = (): void => this.#change.resolve();

  constructor(paths: readonly string[], signal?: AbortSignal) {
    this.#signal = signal;
    signal?.addEventListener("abort", this.#ring);
    for (const path of paths) this.#watchers.set(path, null);
    this.#watch();
  }

  /** Resolves after a change since the last call resolved, after a timeout, or when the signal is aborted. */
  async changed(atMostMs: number): Promise<void> {
    if (this.#signal?.aborted) return;
    this.#watch();
    const cancel = system.clock.after(atMostMs, this.#ring);
    await this.#change.promise;
    cancel();
    this.#change = Promise.withResolvers();
  }

  close(): void {
    this.#signal?.removeEventListener("abort", this.#ring);
    for (const watcher of this.#watchers.values()) watcher?.close();
    this.#watchers.clear();
  }

  #watch(): void {
    for (const [path, watcher] of this.#watchers) {
      if (!watcher) this.#watchers.set(path, watchFile(path, this.#ring));
    }
  }
}

function watchFile(path: string, onChange: () => void) {
  try {
    return system.files.watch(path, onChange, onChange);
  } catch {
    return null;
  }
}
