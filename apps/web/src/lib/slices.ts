/** A computation that yields whenever it may pause. */
export type Sliced<Result> = Generator<void, Result>;

/** Maximum time that a slice blocks the page, in milliseconds. */
const sliceMs = 12;

/**
 * Runs a computation in short slices, so that the page stays responsive.
 * @throws the reason of `signal` once it is aborted.
 */
export async function inSlices<Result>(
  work: Sliced<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  for (;;) {
    signal?.throwIfAborted();
    const end = performance.now() + sliceMs;
    do {
      const { done, value } = work.next();
      if (done) return value;
    } while (performance.now() < end);
    await nextTask();
  }
}

/** Resolves in a separate task. A timeout of 0 would take 4 ms. */
function nextTask(): Promise<void> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.addEventListener("message", () => {
      port1.close();
      resolve();
    });
    port1.start();
    port2.postMessage(null);
  });
}
