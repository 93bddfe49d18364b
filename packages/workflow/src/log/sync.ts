import type { Disk } from "./disk.ts";

/**
 * Decides how a process makes its logs durable. One log alone is synced on the spot, which is the
 * quickest; as soon as several logs are written in turn their syncs run side by side on the thread
 * pool, where the disk does them together and the other threads go on.
 */
export class Syncer {
  #last: object | null = null;
  readonly #disk: Disk;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /** Returns null when the bytes are durable already, else a promise of it. */
  sync(fd: number, log: object): Promise<void> | null {
    const alone = this.#last === log || this.#last === null;
    this.#last = log;
    if (!alone) return this.#disk.syncLater(fd);
    this.#disk.sync(fd);
    return null;
  }
}
