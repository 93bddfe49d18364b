/*
 * Which claim has written which bytes of a thread's debug log. What a worker has written is seen before the cluster has
 * it, and lost with the worker if the next one comes first: the bytes behind the last that were taken are then others.
 */

/** Bytes that begin at `from` and end where the next span begins. `claim` is null where no worker may be asked for them. */
export type Span = { claim: number | null; from: number };

/** A position in a debug log: behind bytes that were seen, as this claim has written them. */
export type Seen = { info: number; claim: number | null };

/** The spans with what a batch at `from` adds to them. `claim` is undefined when no worker has written it. */
export function extended(
  spans: readonly Span[],
  claim: number | undefined,
  from: number,
): readonly Span[] {
  const last = spans.at(-1);
  const known = spans.findLast((span) => span.claim !== null)?.claim ?? 0;
  // What a claim writes behind the bytes of another writer is at other bytes than in its own file.
  const next = claim === undefined || (claim <= known && last?.claim !== claim) ? null : claim;
  return last && last.claim === next ? spans : [...spans, { claim: next, from }];
}

/** Where the next bytes are from: what a position in a debug log names beside the bytes before it. */
export function seenAt(spans: readonly Span[], info: number): Seen {
  const at = firstIndex(spans, ({ from }) => from >= info);
  return { info, claim: spans[at - 1]?.claim ?? null };
}

/** A position, or where its claim has ended if that comes before: what was seen behind it is lost. */
export function settled(spans: readonly Span[], { info, claim }: Seen): number {
  if (claim === null) return info;
  const isLater = (span: Span) => span.claim !== null && span.claim > claim;
  const own = spans.findIndex((span) => span.claim === claim);
  const next = own < 0 ? spans.find(isLater) : spans[own + 1];
  return Math.min(info, next?.from ?? info);
}

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
