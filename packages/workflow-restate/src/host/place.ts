import { cursorOf, positionOf } from "@uncaged/workflow/driver";
import type { Observed } from "@uncaged/workflow/host";
import type { Shown } from "../mirror/mirror.ts";
import { type Seen, seenAt, settled } from "../thread/spans.ts";

const withClaim = /^(.+)\.c(\d{1,10})$/;

/**
 * What of a thread was given to an observer: bytes of the log, and of the debug log as a claim writes it, which may be
 * more than the cluster has of it. As a cursor, `d512.i2048.c3`, that is durable: where the claim was lost before the
 * cluster had it all, it counts as the position at which the next claim has begun.
 */
export class Place {
  /** How many steps were given, or are before the cursor; null while that is not known. */
  steps: number | null = null;
  #data: number;
  #seen: Seen;
  readonly #shown: () => Shown | null;

  /** @throws WorkflowError `BAD_POSITION` (usage). */
  constructor(shown: () => Shown | null, cursor: string | undefined) {
    const [, position = cursor, claim] = withClaim.exec(cursor ?? "") ?? [];
    const { data, info } = positionOf(position);
    this.#shown = shown;
    this.#data = data;
    this.#seen = { info, claim: claim === undefined ? null : Number(claim) };
    this.#settle();
  }

  /** The position in the debug log. */
  get info(): number {
    this.#settle();
    return this.#seen.info;
  }

  get cursor(): string {
    const { info, claim } = seenAt(this.#shown()?.spans ?? [], this.info);
    const position = cursorOf({ data: this.#data, info });
    return claim === null ? position : `${position}.c${claim}`;
  }

  /** The place among what the cluster has. */
  get recorded(): string {
    const { claim } = this.#seen;
    const most = claim === null ? this.info : (this.#shown()?.info ?? 0);
    return cursorOf({ data: this.#data, info: Math.min(this.info, most) });
  }

  /** Takes what the cluster has; null where it was given already, as the worker wrote it. */
  take(item: Observed): Observed | null {
    const { data, info } = positionOf(item.cursor);
    if (item.kind === "event" && info <= this.info) return null;
    this.#data = data;
    this.#reach(info);
    if (item.kind === "start") this.steps = 0;
    if (item.kind === "step") this.steps = item.number;
    return { ...item, cursor: this.cursor };
  }

  /** Takes what a worker has written next, up to a position in the debug log. */
  reach(info: number): string {
    this.#reach(info);
    return this.cursor;
  }

  #reach(info: number): void {
    if (info <= this.info) return;
    this.#seen = seenAt(this.#shown()?.spans ?? [], info);
  }

  // Another claim may have begun before what was seen.
  #settle(): void {
    const { spans } = this.#shown() ?? {};
    if (!spans || this.#seen.claim === null) return;
    const info = settled(spans, this.#seen);
    if (info < this.#seen.info) this.#seen = seenAt(spans, info);
  }
}
