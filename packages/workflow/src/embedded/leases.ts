import type { Claim, ThreadStore } from "../store/store.ts";
import { system } from "../system/system.ts";
import type { Live } from "../worker/live.ts";

type Held = { live: Live; claim: Claim; renewedAt: number };

/**
 * Renews the claims of driven threads. If a thread's claim was lost, or not renewed within its lease, stops the thread,
 * even in the middle of a role: another worker may drive it.
 */
export class Leases {
  readonly #store: ThreadStore;
  readonly #leaseMs: number;
  readonly #onLost: (claim: Claim) => void;
  readonly #held = new Map<string, Held>();
  #cancel: (() => void) | null = null;

  constructor(store: ThreadStore, leaseMs: number, onLost: (claim: Claim) => void) {
    this.#store = store;
    this.#leaseMs = leaseMs;
    this.#onLost = onLost;
  }

  /** Adds the claim of a driven thread. */
  add(live: Live, claim: Claim): void {
    const renewedAt = system.clock.elapsed();
    this.#held.set(claim.ref.threadId, { live, claim, renewedAt });
    this.#plan(this.#leaseMs / 3);
  }

  /** Removes a claim that has ended. */
  remove({ ref, fence }: Claim): void {
    const held = this.#held.get(ref.threadId);
    if (held?.claim.fence === fence) this.#held.delete(ref.threadId);
    if (this.#held.size > 0) return;
    this.#cancel?.();
    this.#cancel = null;
  }

  /** Renews the claim of a thread that another process may have claimed. */
  async check(threadId: string): Promise<void> {
    const held = this.#held.get(threadId);
    if (held) await this.#renew([held]);
  }

  #plan(ms: number): void {
    this.#cancel ??= system.clock.after(ms, () => {
      this.#cancel = null;
      void this.#renewAll();
    });
  }

  async #renewAll(): Promise<void> {
    const isRenewed = await this.#renew([...this.#held.values()]);
    if (this.#held.size > 0) this.#plan(this.#leaseMs / (isRenewed ? 3 : 10));
  }

  /** Renews claims. Returns false when the store did not answer for a claim. */
  async #renew(all: readonly Held[]): Promise<boolean> {
    const now = system.clock.elapsed();
    const isOver = ({ renewedAt }: Held) => now - renewedAt >= this.#leaseMs;
    for (const held of all.filter(isOver)) this.#lose(held);
    const open = all.filter((held) => !isOver(held));
    const answers = await this.#ask(open.map(({ claim }) => claim));
    for (const [index, held] of open.entries()) {
      if (answers[index] === true) held.renewedAt = now;
      if (answers[index] === false) this.#lose(held);
    }
    return answers.every((answer) => answer !== null);
  }

  /** Renews claims in the store. Returns for each whether it is still valid; null when the store did not answer. */
  async #ask(claims: readonly Claim[]): Promise<(boolean | null)[]> {
    const asked = this.#store.renewAll
      ? this.#store.renewAll(claims)
      : Promise.all(claims.map((claim) => claim.renew().catch(() => null)));
    return await asked.catch(() => claims.map(() => null));
  }

  #lose({ live, claim }: Held): void {
    if (live.engine.over || this.#held.get(claim.ref.threadId)?.claim !== claim) return;
    this.remove(claim);
    this.#onLost(claim);
    void live.engine.release();
  }
}
