import type { Host, ThreadRef } from "@uncaged/workflow/host";
import { firstLine, goesOn } from "@uncaged/workflow/internal";
import { z } from "zod";
import type { Call } from "./tool.ts";

const mostSeconds = 600;

/** The argument `wait` of the tools that start or continue a thread. */
export const waitField = z
  .number()
  .min(0)
  .max(mostSeconds)
  .default(0)
  .describe(
    "Seconds to wait for the thread, at most 600. The call returns earlier when the thread ends, asks a question or is " +
      "paused. The thread continues when the call is cancelled.",
  );

const reportEveryMs = 1_000;
/** Ticks until an unchanged report is repeated, to keep clients from giving up. */
const repeatEvery = 5;

/**
 * Waits until a thread ends, asks or is paused, for at most `seconds`, or until the client cancels the call. Reports the
 * thread's steps meanwhile.
 */
export async function waitFor(
  host: Host,
  ref: ThreadRef,
  seconds: number,
  { signal, report }: Call,
): Promise<void> {
  if (seconds === 0) return;
  const startedAt = performance.now();
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), seconds * 1000);
  let message = "no step yet";
  let told = "";
  let repeats = 0;
  const tell = () => {
    repeats += 1;
    if (message === told && repeats < repeatEvery) return;
    [told, repeats] = [message, 0];
    const progress = Math.min(seconds, (performance.now() - startedAt) / 1000);
    // A disconnected client gets no report. Its signal ends the wait.
    void report?.(progress, seconds, message).catch(() => undefined);
  };
  const ticks = report && setInterval(tell, reportEveryMs);
  try {
    const options = { events: false, signal: AbortSignal.any([signal, late.signal]) };
    tell();
    for await (const item of host.observe(ref, undefined, options)) {
      if (item.kind === "step") message = `step ${item.number}: ${firstLine(item.step.role)}`;
      if (item.kind !== "status") continue;
      if (item.state.status === "paused" || !goesOn(item.state)) return;
    }
  } finally {
    clearTimeout(timer);
    clearInterval(ticks);
  }
}
