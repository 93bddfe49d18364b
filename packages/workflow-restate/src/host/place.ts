import { cursorOf, positionOf } from "@uncaged/workflow/store";
import type { Observed } from "@uncaged/workflow/host";
import type { Shown } from "../mirror/mirror.ts";
import { inCopy, isLost, recordedOf, type Seen, seenAt, type Span } from "../thread/spans.ts";

const withClaim = /^(.+)\.c(\d{1,10})$/;

/**
 * What of a thread was given to an observer: bytes of the log, and of the debug log as a claim's worker has it, which may be
 * more than the cluster has. As a cursor, `d512.i2048.c3`, that is durable: where the claim was lost before the cluster had
 * it all, it counts as the position at which the next claim has begun.
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
  }

  get cursor(): string {
    const { info, claim } = this.#settled();
    const position = cursorOf({ data: this.#data, info });
    return claim === null ? position : `${position}.c${claim}`;
  }

  /** The place among what the cluster has. */
  get recorded(): string {
    return cursorOf({ data: this.#data, info: this.#recorded });
  }

  /** The place in the copy of the worker that has a claim. */
  inCopyOf(claim: number): number {
    const seen = this.#settled();
    return seen.claim === claim ? seen.info : inCopy(this.#spans, claim, this.#recorded);
  }

  /** Takes what the cluster has; null where it was given already, as the worker wrote it. */
  take(item: Observed): Observed | null {
    const { data, info } = positionOf(item.cursor);
    const isNew = info > this.#recorded;
    if (item.kind === "event" && !isNew) return null;
    this.#data = data;
    const seen = seenAt(this.#spans, info);
    // What others wrote between is behind it, and what was seen of the claim is more.
    if (isNew && (seen.claim !== null || !this.#isAhead)) this.#seen = seen;
    if (item.kind === "start") this.steps = 0;
    if (item.kind === "step") this.steps = item.number;
    return { ...item, cursor: this.cursor };
  }

  /** Takes what the worker with a claim has written, up to a position in its copy. */
  reach(seen: Seen): string {
    this.#seen = seen;
    return this.cursor;
  }

  get #spans(): readonly Span[] {
    return this.#shown()?.spans ?? [];
  }

  get #recorded(): number {
    return recordedOf(this.#spans, this.#shown()?.info ?? 0, this.#settled());
  }

  get #isAhead(): boolean {
    const { info, claim } = seenAt(this.#spans, this.#recorded);
    return claim !== null && claim === this.#seen.claim && info < this.#seen.info;
  }

  #settled(): Seen {
    const { spans, info } = this.#shown() ?? { spans: [], info: 0 };
    if (isLost(spans, this.#seen)) this.#seen = seenAt(spans, recordedOf(spans, info, this.#seen));
    return this.#seen;
  }
}
