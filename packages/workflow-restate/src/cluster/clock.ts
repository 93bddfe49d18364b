import type { WorkflowError } from "@uncaged/workflow/host";
import type { ClusterAddress } from "./address.ts";
import { clusterTime } from "./admin.ts";
import { clockOff } from "./errors.ts";

/*
 * When a thread wakes is computed by the clock of its worker, and decided by that of a server: a sleep ends as much too early
 * or too late as they differ. How far a clock is off is known to a second, for servers give their time in whole ones.
 */

/** A clock that is off by more than the first is reported; beyond the second it is no good for driving threads. */
const [reportedMs, refusedMs] = [2_000, 10_000];

/** The answer of a server that took longer says nothing, as when this process was frozen meanwhile. */
const promptMs = 2_000;

/** Milliseconds by which this machine's clock is surely ahead of the cluster's, negative behind it; null: not known. */
async function leadOf(address: ClusterAddress): Promise<number | null> {
  const began = performance.now();
  const time = await clusterTime(address);
  if (time === null || performance.now() - began > promptMs) return null;
  const most = Date.now() - time;
  const least = most - 1000 - (performance.now() - began);
  return least > 0 ? least : Math.min(most, 0);
}

/** This machine's clock beside that of a cluster. */
export class Clock {
  readonly #address: ClusterAddress;
  #lead = 0;

  constructor(address: ClusterAddress) {
    this.#address = address;
  }

  /** The time of the cluster, in milliseconds. */
  get now(): number {
    return Date.now() - this.#lead;
  }

  /** Whether it is too far off to drive threads by it. */
  get isRefused(): boolean {
    return Math.abs(this.#lead) > refusedMs;
  }

  /** How far it is off, where that must be known; else null. */
  get problem(): WorkflowError | null {
    if (Math.abs(this.#lead) <= reportedMs) return null;
    return clockOff(this.#lead, this.#address.ingress);
  }

  /** Measures the offset again. Keeps the last one when the cluster does not respond. */
  async compare(): Promise<void> {
    this.#lead = (await leadOf(this.#address)) ?? this.#lead;
  }
}
