import { type Lock, takeLock } from "./lock.ts";
import { lockPath, type Root } from "./paths.ts";

/** Locks of this process on the threads of bundles. Each lock counts the claims that need it. */
export class BundleLocks {
  readonly #root: Root;
  readonly #heldHash: string | undefined;
  readonly #locks = new Map<string, { lock: Lock; claims: number }>();

  /** @param heldHash The bundle whose lock this process holds until it ends. */
  constructor(root: Root, heldHash?: string) {
    this.#root = root;
    this.#heldHash = heldHash;
  }

  /** Takes a lock. Returns false when another process holds it. */
  take(hash: string): boolean {
    if (hash === this.#heldHash) return true;
    const known = this.#locks.get(hash);
    if (known) {
      known.claims += 1;
      return true;
    }
    const lock = takeLock(lockPath(this.#root, hash), 0);
    if (lock) this.#locks.set(hash, { lock, claims: 1 });
    return lock !== null;
  }

  /** Releases a lock when its last claim is released. */
  release(hash: string): void {
    const known = this.#locks.get(hash);
    if (!known) return;
    known.claims -= 1;
    if (known.claims > 0) return;
    this.#locks.delete(hash);
    known.lock.release();
  }

  /** Returns whether another process holds a lock. */
  isHeldElsewhere(hash: string): boolean {
    const isFree = this.take(hash);
    if (isFree) this.release(hash);
    return !isFree;
  }
}
