import { system } from "../system/system.ts";

/** Write options of a process. Without a `syncer` it does not sync. `made`: the folders whose names are durable. */
export type Writing = {
  syncer: Syncer | null;
  made?: Set<string>;
};

/** Returns write options that sync each step. */
export const durableWriting = (): Writing => ({ syncer: new Syncer(), made: new Set() });

/**
 * Syncs the logs of a process. Syncs a single log synchronously, which is fastest. When several logs are written in
 * turn, their syncs run in parallel on the thread pool: the disk combines them, and other threads continue.
 */
export class Syncer {
  #last: object | null = null;

  /** Returns null when the bytes are already durable, else a promise. */
  sync(fd: number, log: object): Promise<void> | null {
    const alone = this.#last === log || this.#last === null;
    this.#last = log;
    if (!alone) return system.files.syncDataLater(fd);
    system.files.syncData(fd);
    return null;
  }
}
