import type { WorkflowError } from "@uncaged/workflow/host";
import type { ClusterAddress } from "./address.ts";
import { clusterTime } from "./admin.ts";
import { clockOff } from "./errors.ts";

/*
 * A worker computes when a thread wakes, and a server fires the timer: the difference of their clocks shifts every
 * sleep. Servers report whole seconds, so the difference is known to a second.
 */

/**
 * Limits of the clock difference, in milliseconds. At the first limit the worker reports the difference, and at the
 * second it stops driving threads.
 */
const [reportedMs, refusedMs] = [2_000, 10_000];

/**
 * Maximum response time of a usable measurement, in milliseconds. A slower response may include a freeze of this
 * process.
 */
const promptMs = 2_000;

/**
 * Returns the smallest lead of this machine's clock over the cluster's that explains the response, in milliseconds;
 * negative when the clock is behind, null when unknown.
 */
async function leadOf(address: ClusterAddress): Promise<number | null> {
  const began = performance.now();
  const time = await clusterTime(address);
  if (time === null || performance.now() - began > promptMs) return null;
  const most = Date.now() - time;
  const least = most - 1000 - (performance.now() - began);
  return least > 0 ? least : Math.min(most, 0);
}

/** Compares this machine's clock with the clock of a cluster. */
export class Clock {
  readonly #address: ClusterAddress;
  #lead = 0;

  constructor(address: ClusterAddress) {
    this.#address = address;
  }

  /** Time of the cluster, in milliseconds. */
  get now(): number {
    return Date.now() - this.#lead;
  }

  /** Whether the clock difference is too large to drive threads. */
  get isRefused(): boolean {
    return Math.abs(this.#lead) > refusedMs;
  }

  /** Error for a difference that the worker must report; else null. */
  get problem(): WorkflowError | null {
    if (Math.abs(this.#lead) <= reportedMs) return null;
    return clockOff(this.#lead, this.#address.ingress);
  }

  /** Measures the difference again. Keeps the last difference when the cluster does not respond. */
  async compare(): Promise<void> {
    this.#lead = (await leadOf(this.#address)) ?? this.#lead;
  }
}
