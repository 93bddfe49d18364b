/*
 * Which claim has written which bytes of a thread's debug log. A worker has a copy of it, which it adds to and streams
 * before the cluster has what it added. Then other bytes may come between, as of an answer that was refused; and all that
 * a lost worker had not appended never comes: the next claim's bytes are in its place.
 */

/**
 * Bytes that begin at `from` and end where the next span begins, and so many bytes before the same in the copy of the
 * claim's worker. `claim` is null of bytes that no worker has written.
 */
export type Span = { claim: number | null; from: number; before: number };

/** A position in a debug log: in the copy of a claim's worker, or in the log of the cluster where `claim` is null. */
export type Seen = { info: number; claim: number | null };

/** Who has written a batch: a claim, and where in its worker's copy. */
export type Writer = { claim?: number; at?: number };

/** The spans with what a batch at `from` adds to them. */
export function extended(
  spans: readonly Span[],
  { claim, at }: Writer,
  from: number,
): readonly Span[] {
  const last = spans.at(-1);
  if (last && last.claim === (claim ?? null)) return spans;
  return [...spans, { claim: claim ?? null, from, before: from - (at ?? from) }];
}

/** The spans with one for what a claim will write next, as far as that is known. */
export function continued(spans: readonly Span[], claim: number, from: number): readonly Span[] {
  const own = spans.findLast((span) => span.claim === claim);
  if (!own) return extended(spans, { claim }, from);
  const others = spans.at(-1);
  const between = others && others !== own ? from - others.from : 0;
  return extended(spans, { claim, at: from - own.before - between }, from);
}

/** What a position in the log of the cluster is in the copy of the worker that has written the bytes before it. */
export function seenAt(spans: readonly Span[], info: number): Seen {
  const span = spans[firstIndex(spans, ({ from }) => from >= info) - 1];
  return !span || span.claim === null
    ? { info, claim: null }
    : { info: info - span.before, claim: span.claim };
}

/** How far the log of the cluster, of `end` bytes, has what was seen. */
export function recordedOf(spans: readonly Span[], end: number, { info, claim }: Seen): number {
  if (claim === null) return info;
  let own = spans.findIndex((span) => span.claim === claim);
  if (own < 0) return Math.min(info, spans.find((span) => isLater(span, claim))?.from ?? end);
  for (let recorded = 0; ; own += 2) {
    const span = spans[own];
    // Between two spans of a claim there is one of others.
    if (span?.claim !== claim) return recorded;
    recorded = spans[own + 1]?.from ?? end;
    if (info + span.before <= recorded) return Math.max(info + span.before, span.from);
  }
}

/** Whether what was seen and is not recorded never will be: a later claim has the thread. */
export const isLost = (spans: readonly Span[], { claim }: Seen): boolean =>
  claim !== null && spans.some((span) => isLater(span, claim));

/** A position in the log of the cluster as one in the copy of the worker that has a claim. */
export function inCopy(spans: readonly Span[], claim: number, info: number): number {
  const seen = seenAt(spans, info);
  if (seen.claim === claim) return seen.info;
  const own = spans.findLast((span) => span.claim === claim && span.from < info);
  const next = own && spans[spans.indexOf(own) + 1];
  return own && next ? next.from - own.before : info;
}

const isLater = (span: Span, claim: number): boolean => span.claim !== null && span.claim > claim;

/** The index of the first that is so, of items of which all after it are too. */
function firstIndex<T>(items: readonly T[], is: (item: T) => boolean): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (is(items[middle] as T)) high = middle;
    else low = middle + 1;
  }
  return low;
}
