import { system } from "../system/system.ts";

/** How a process writes logs. Without a `syncer` it never syncs. `made` holds the folders whose names are durable. */
export type Writing = {
  syncer: Syncer | null;
  made?: Set<string>;
};

/** Syncs each step. */
export const durableWriting = (): Writing => ({ syncer: new Syncer(), made: new Set() });

/**
 * Decides how a process makes its logs durable. One log alone is synced on the spot, which is the
 * quickest; as soon as several logs are written in turn their syncs run in parallel on the thread
 * pool, where the disk does them together and the other threads go on.
 */
export class Syncer {
  #last: object | null = null;

  /** Returns null when the bytes are durable already, else a promise of it. */
  sync(fd: number, log: object): Promise<void> | null {
    const alone = this.#last === log || this.#last === null;
    this.#last = log;
    if (!alone) return system.files.syncDataLater(fd);
    system.files.syncData(fd);
    return null;
  }
}
