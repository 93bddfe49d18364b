/**
 * Sends OpenTelemetry traces and metrics of a host's threads.
 *
 * @module
 */
import type { Host } from "@uncaged/workflow/host";
import { isWanted } from "../export/settings.ts";

/** Options of {@link startTelemetry}. */
export type TelemetryOptions = {
  /** The environment, with the variables of the OpenTelemetry specification. */
  env: Readonly<Record<string, string | undefined>>;
  /** Called with a line of text for each invalid setting and for the first failure. */
  note: (text: string) => void;
};

/**
 * Observes a host, and sends metrics and a trace for each thread. Does nothing if the environment names no OTLP
 * endpoint, and loads the OpenTelemetry SDK only for an endpoint. A failing endpoint never delays a thread. `stop` takes
 * at most about two seconds.
 */
export async function startTelemetry(
  host: Host,
  { env, note }: TelemetryOptions,
): Promise<{ stop: () => Promise<void> }> {
  if (!isWanted(env)) return { stop: async () => undefined };
  const { Watcher } = await import("../watch/watcher.ts");
  const watcher = new Watcher(host, env, note);
  watcher.start();
  return { stop: () => watcher.stop() };
}
