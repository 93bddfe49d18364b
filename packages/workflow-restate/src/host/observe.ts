import type { Drivers } from "@uncaged/workflow/store";
import type { Observed, ObserveOptions, ThreadRef } from "@uncaged/workflow/host";
import type { HostContext } from "./context.ts";
import { LiveTail } from "./live.ts";
import { Place } from "./place.ts";

/**
 * Observes a thread whose files are up to date: its records from the cluster, in order, and events from its worker
 * before the cluster has them. Yields each item once. @see Host.observe
 */
export async function* observeThread(
  { mirror, drivers, local }: HostContext,
  ref: ThreadRef,
  cursor: string | undefined,
  options: ObserveOptions,
): AsyncGenerator<Observed> {
  const { threadId } = ref;
  const shown = () => mirror.shown(threadId);
  const place = new Place(shown, cursor);
  const { until, events = true } = options;
  const to = until === undefined || until === "now" ? until : new Place(shown, until).recorded;
  const tail = until === undefined && events ? new LiveTail(threadId, mirror, place) : null;
  const live: Drivers = {
    find: async (each, since) => {
      // The caller has already yielded everything in the mirror.
      const { records, meta } = shown() ?? {};
      if (records !== undefined) place.steps = records - (meta?.end ? 2 : 1);
      const row = await drivers.find(each, since);
      tail?.look();
      return row;
    },
  };
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, ...(options.signal ? [options.signal] : [])]);
  const begin = cursor === undefined ? undefined : place.recorded;
  const recorded = local.observe(ref, begin, { ...options, until: to, signal }, live);
  let next: Promise<IteratorResult<Observed>> | null = null;
  try {
    for (;;) {
      const written = tail?.next();
      if (written) {
        yield written;
        continue;
      }
      next ??= recorded.next();
      const come = await (tail ? Promise.race([next, tail.changed()]) : next);
      if (!come) continue;
      if (come.done) return;
      next = null;
      const item = place.take(come.value);
      if (item) yield item;
    }
  } finally {
    stop.abort();
    tail?.close();
    void next?.catch(() => undefined);
    void recorded.return(undefined);
  }
}
