import type { ThreadRow } from "@uncaged/workflow/host";
import type { Location } from "@uncaged/workflow/store";

/** State of a thread besides its records. Times are in milliseconds since the epoch. */
export type ThreadMeta = {
  /** Distinguishes successive threads with the same id. */
  incarnation: string;
  threadId: string;
  hash: string;
  workflow: string;
  createdAt: number;
  updatedAt: number;
  forkFrom?: { threadId: string; steps: number; origin?: string };
  /** Absent in threads of an earlier version. */
  subject?: string;
  /** Fields of the row from the thread's log. They are valid while the thread has this number of records. */
  shown?: ShownFields & { records: number };
  /** Number of records, including the start record, and number of debug log batches. */
  records: number;
  batches: number;
  /** Checksum of the last record. */
  sum: string;
  last: LastRecord | null;
  /** Time spent waiting up to the last record, in milliseconds; absent when 0. */
  waitedMs?: number;
  epoch: number;
  /** Number of claims in all epochs, and number of appends of the last claim. */
  claim: number;
  appends: number;
  /** Present while the thread is ordered to run. `at` is the time of the claim, `live` the claim's stream. */
  drive: {
    invocation: string | null;
    pid: number;
    since: number;
    at?: number;
    live?: LiveAddress;
  } | null;
  /** Whether the thread must stop at its next yield. */
  pause: boolean;
  end: { returnCode: number; reason: string } | null;
  /** Whether the object has blobs or staged values. Readers must then select keys instead of reading all state. */
  isLarge?: boolean;
  /**
   * Location after the thread has moved between hosts. While another host has the thread, this meta does not change.
   */
  location?: Location;
  /** Number of journal records, and checksum of the last record. */
  journal?: { records: number; sum: string };
  /** Whether holders of claims drive the thread: the cluster orders no drive and does not wake it. */
  byClaims?: true;
  /** Claim of a holder outside of an invocation. It expires at `until`. */
  lease?: { owner: string; ms: number; until: number };
  /** Time before which a store does not list the thread as runnable. */
  postponedUntil?: number;
};

/** Fields of a thread's row that only its log and its journal show. */
export type ShownFields = Pick<ThreadRow, "at" | "spent" | "hasError">;

/** Address of the stream of a claim's worker. Clients authenticate with the claim's key. */
export type LiveAddress = { url: string; key: string };

/**
 * The last step. A step that `waits` either `sleeps` until `wakesAt` or waits for an answer, at most until `wakesAt`.
 */
export type LastRecord = {
  role: string;
  timestamp: number;
  waits: boolean;
  sleeps?: boolean;
  wakesAt?: number;
};
