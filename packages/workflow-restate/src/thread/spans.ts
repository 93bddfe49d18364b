/*
 * Maps bytes of a thread's debug log to the claims that wrote them. A worker appends to its own copy and streams it
 * before the cluster has the bytes. The cluster's log may differ: it has bytes of other writers in between, such as a
 * refused answer, and lacks the last bytes of a lost worker, which the next claim's bytes replace.
 */

/**
 * Bytes from `from` to the start of the next span, written by one claim. `before` is the offset of the cluster's log
 * minus the offset of the same byte in the worker's copy. `claim` is null for bytes that no worker wrote.
 */
export type Span = { claim: number | null; from: number; before: number };

/** Position in a debug log: in the copy of a claim's worker, or in the cluster's log when `claim` is null. */
export type Seen = { info: number; claim: number | null };

/** Writer of a batch: a claim and the batch's offset in its worker's copy. */
export type Writer = { claim?: number; at?: number };

/** Returns the spans after a batch at `from`. */
export function extended(
  spans: readonly Span[],
  { claim, at }: Writer,
  from: number,
): readonly Span[] {
  const last = spans.at(-1);
  if (last && last.claim === (claim ?? null)) return spans;
  return [...spans, { claim: claim ?? null, from, before: from - (at ?? from) }];
}

/** Returns the spans with an open span for the next bytes of a claim. */
export function continued(spans: readonly Span[], claim: number, from: number): readonly Span[] {
  const own = spans.findLast((span) => span.claim === claim);
  if (!own) return extended(spans, { claim }, from);
  const others = spans.at(-1);
  const between = others && others !== own ? from - others.from : 0;
  return extended(spans, { claim, at: from - own.before - between }, from);
}

/** Converts a position in the cluster's log to the copy of the worker that wrote the bytes before it. */
export function seenAt(spans: readonly Span[], info: number): Seen {
  const span = spans[firstIndex(spans, ({ from }) => from >= info) - 1];
  return !span || span.claim === null
    ? { info, claim: null }
    : { info: info - span.before, claim: span.claim };
}

/** Converts a seen position to the cluster's log, which has `end` bytes. */
export function recordedOf(spans: readonly Span[], end: number, { info, claim }: Seen): number {
  if (claim === null) return info;
  let own = spans.findIndex((span) => span.claim === claim);
  if (own < 0) return Math.min(info, spans.find((span) => isLater(span, claim))?.from ?? end);
  for (let recorded = 0; ; own += 2) {
    const span = spans[own];
    // Bytes of other writers separate two spans of a claim.
    if (span?.claim !== claim) return recorded;
    recorded = spans[own + 1]?.from ?? end;
    if (info + span.before <= recorded) return Math.max(info + span.before, span.from);
  }
}

/** Whether the unrecorded bytes of a position are lost because a later claim has the thread. */
export const isLost = (spans: readonly Span[], { claim }: Seen): boolean =>
  claim !== null && spans.some((span) => isLater(span, claim));

/** Converts a position in the cluster's log to the copy of a claim's worker. */
export function inCopy(spans: readonly Span[], claim: number, info: number): number {
  const seen = seenAt(spans, info);
  if (seen.claim === claim) return seen.info;
  const own = spans.findLast((span) => span.claim === claim && span.from < info);
  const next = own && spans[spans.indexOf(own) + 1];
  return own && next ? next.from - own.before : info;
}

const isLater = (span: Span, claim: number): boolean => span.claim !== null && span.claim > claim;

/** Returns the index of the first item for which `is` holds, by binary search. */
function firstIndex<T>(items: readonly T[], is: (item: T) => boolean): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (is(items[middle] as T)) high = middle;
    else low = middle + 1;
  }
  return low;
}
