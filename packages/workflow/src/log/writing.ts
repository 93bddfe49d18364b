import type { PreparedLog } from "../system/prewarm.ts";
import { system } from "../system/system.ts";

/**
 * How a process writes logs; `syncer` null leaves the sync to the system. `made` are the folders whose names it has
 * made durable, `prepared` a log that another process has made for it.
 */
export type Writing = {
  syncer: Syncer | null;
  made?: Set<string>;
  prepared?: PreparedLog | null;
};

/** Writing that is synced at each step, with what another process has made for it. */
export const durableWriting = (
  made: readonly string[] = [],
  prepared: PreparedLog | null = null,
): Writing => ({ syncer: new Syncer(), made: new Set(made), prepared });

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
