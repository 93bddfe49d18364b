import { isMoving, type ThreadRef, type ThreadView } from "../thread/thread.ts";
import type { Host, ObserveOptions, Observed } from "./host.ts";

/**
 * Observes a thread for as long as it goes on without anyone's doing: until it has ended, waits for an
 * answer, is corrupt or removed, or its worker is gone. A paused thread is waited for.
 */
export async function* follow(
  host: Host,
  ref: ThreadRef,
  options: Omit<ObserveOptions, "until"> = {},
): AsyncGenerator<Observed> {
  for await (const item of host.observe(ref, undefined, options)) {
    yield item;
    if (item.kind === "status" && !isMoving(item.state.status)) return;
  }
}

/**
 * Waits until a thread no longer goes on without anyone's doing, and gives it; with an aborted `signal`
 * at once.
 */
export async function settled(
  host: Host,
  ref: ThreadRef,
  { signal }: { signal?: AbortSignal } = {},
): Promise<ThreadView> {
  for await (const _ of follow(host, ref, { signal, events: false }));
  return await host.read(ref);
}
