import { WorkflowError } from "@uncaged/workflow";
import type { Adapters, CallSurroundings } from "../adapter/adapter.ts";
import type { Call } from "./call.ts";

/**
 * The adapter that a step needs.
 * @throws WorkflowError `NO_ADAPTER`
 */
export function adapterOf<Name extends keyof Adapters>(
  { step, adapters }: Call,
  name: Name,
): NonNullable<Adapters[Name]> {
  const adapter = adapters[name];
  if (adapter) return adapter;
  throw new WorkflowError({
    code: "NO_ADAPTER",
    kind: "failed",
    message: `${step.id} needs the adapter ${name}, and there is none`,
    hint: hints[name] ?? `give the run the adapter ${name}`,
  });
}

const alone = "a JSON file brings none along: add a TypeScript source that gives it to stepsBundle";
const hints: Partial<Record<keyof Adapters, string>> = { service: alone, component: alone };

/** Where an adapter's call happens. */
export const surroundingsOf = ({ signal, runID, place }: Call): CallSurroundings => ({
  signal,
  runID,
  stepID: place,
});

/**
 * What some work comes to, or the signal's reason as soon as it is aborted: an adapter that ignores the
 * signal holds nobody up, and what it says later is dropped.
 */
export async function untilAborted<T>(signal: AbortSignal, work: () => T | Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const stopped = Promise.withResolvers<never>();
  const stop = () => stopped.reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  try {
    const done = await Promise.race([(async () => work())(), stopped.promise]);
    signal.throwIfAborted();
    return done;
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
