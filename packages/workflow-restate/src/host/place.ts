import { cursorOf, positionOf } from "@uncaged/workflow/store";
import type { Observed } from "@uncaged/workflow/host";
import type { Shown } from "../mirror/mirror.ts";
import { inCopy, isLost, recordedOf, type Seen, seenAt, type Span } from "../thread/spans.ts";

const withClaim = /^(.+)\.c(\d{1,10})$/;

/**
 * Position of an observer: bytes of the log, and bytes of the debug log in the copy of a claim's worker, which may be
 * ahead of the cluster. The cursor (`d512.i2048.c3`) is durable: when a lost claim's last bytes never reached the
 * cluster, the cursor counts as the start of the next claim.
 */
export class Place {
  /** Number of steps before the position; null while unknown. */
  steps: number | null = null;
  #data: number;
  #seen: Seen;
  readonly #shown: () => Shown | null;

  /** Starts at a cursor. @throws WorkflowError `BAD_POSITION` (usage) */
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

  /** Cursor within the logs of the cluster. */
  get recorded(): string {
    return cursorOf({ data: this.#data, info: this.#recorded });
  }

  /** Returns the position in the copy of a claim's worker. */
  inCopyOf(claim: number): number {
    const seen = this.#settled();
    return seen.claim === claim ? seen.info : inCopy(this.#spans, claim, this.#recorded);
  }

  /** Accepts an item from the cluster; null when the worker's stream already delivered it. */
  take(item: Observed): Observed | null {
    const { data, info } = positionOf(item.cursor);
    const isNew = info > this.#recorded;
    if (item.kind === "event" && !isNew) return null;
    this.#data = data;
    const seen = seenAt(this.#spans, info);
    // Other writers' bytes follow the claim's bytes, which the observer has seen: keep the later position.
    if (isNew && (seen.claim !== null || !this.#isAhead)) this.#seen = seen;
    if (item.kind === "start") this.steps = 0;
    if (item.kind === "step") this.steps = item.number;
    return { ...item, cursor: this.cursor };
  }

  /** Moves to a position in the copy of a claim's worker. Returns the cursor. */
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
