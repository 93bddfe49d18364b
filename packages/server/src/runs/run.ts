import type { Checkpoint, WorkflowSnapshot } from "@uncaged/workflow-steps";
import {
  type Documents,
  documentsOf,
  recordedCheckpoint,
  recordedSnapshot,
  recordedValues,
  stepRun,
  type StepValues,
} from "@uncaged/workflow-steps/threads";
import {
  type EndRecord,
  type EventRecord,
  type Host,
  isWorkflowError,
  type ThreadRef,
  type ThreadRow,
} from "@uncaged/workflow/host";
import { runMissing } from "./errors.ts";

export type Run = { ref: ThreadRef; documents: Documents };

type Point = { before?: string; steps?: number };

const mostKnown = 100;

/** The runs of a host. Caches descriptors, because bundles never change. */
export class Runs {
  readonly #host: Host;
  readonly #known = new Map<string, Documents>();

  constructor(host: Host) {
    this.#host = host;
  }

  /** Returns the run with an id; null for a missing thread and for a thread of another kind of workflow. */
  async find(id: string): Promise<Run | null> {
    try {
      const ref = await this.#host.find(id);
      return { ref, documents: await this.documentsOf(ref.hash) };
    } catch (error) {
      if (isWorkflowError(error) && noRun.has(error.code)) return null;
      throw error;
    }
  }

  async get(id: string): Promise<Run> {
    const found = await this.find(id);
    if (found) return found;
    throw runMissing("RUN_NOT_FOUND", "not found");
  }

  async documentsOf(hash: string): Promise<Documents> {
    const known = this.#known.get(hash);
    if (known) return known;
    const documents = documentsOf(hash, await this.#host.descriptor(hash));
    if (this.#known.size >= mostKnown) this.#known.clear();
    this.#known.set(hash, documents);
    return documents;
  }

  async snapshot({ ref, documents }: Run): Promise<WorkflowSnapshot> {
    // Reads the number before the state, so that a client that follows from the number misses no event.
    const end = await endOf(this.#host, await this.#host.row(ref));
    const eventSeq = end?.seq ?? (await lastSeqOf(this.#host, ref));
    const thread = await this.#host.read(ref);
    const elapsedMs = (end?.at ?? Date.now()) - thread.createdAt;
    const failedStepID = failedStepIn(end) ?? undefined;
    return recordedSnapshot(documents, thread, { elapsedMs, eventSeq, failedStepID });
  }

  /**
   * Returns the state of a run: its current state, its state before the last execution of a step, or its state after a
   * number of steps.
   */
  async checkpoint(id: string, { before, steps }: Point): Promise<Checkpoint> {
    const { documents, thread } = await this.#recorded(id);
    let count = steps ?? thread.steps.length;
    if (before !== undefined) {
      const isStep = documents.document.steps.some((step) => step.id === before);
      count = isStep ? (stepRun(thread.steps, before)?.before ?? 0) : Infinity;
    }
    if (count > thread.steps.length) throw runMissing("NO_CHECKPOINT", "no checkpoint");
    if (before === undefined && count === thread.steps.length) {
      return recordedCheckpoint(documents, thread);
    }
    const first = { ...thread, steps: thread.steps.slice(0, count), status: "running" as const };
    return recordedCheckpoint(documents, first);
  }

  async values(id: string, number: number): Promise<StepValues> {
    const { documents, ref, thread } = await this.#recorded(id);
    const isNext = number === thread.steps.length + 1;
    const end = isNext ? await endOf(this.#host, await this.#host.row(ref)) : null;
    const isThere = isNext || number <= thread.steps.length;
    const values = isThere && recordedValues(documents, thread, number, failedStepIn(end));
    if (values) return values;
    throw runMissing("NO_CHECKPOINT", "no checkpoint");
  }

  async #recorded(id: string) {
    const found = await this.find(id);
    if (!found) throw runMissing("NO_CHECKPOINT", "no checkpoint");
    return { ...found, thread: await this.#host.read(found.ref) };
  }
}

const noRun: ReadonlySet<string> = new Set([
  "THREAD_NOT_FOUND",
  "THREAD_AMBIGUOUS",
  "NO_STEP_WORKFLOW",
]);

/** Returns the `seq` of the last written event of a thread; 0 for none. */
export async function lastSeqOf(host: Host, ref: ThreadRef): Promise<number> {
  for await (const { seq } of newestEvents(host, ref)) return seq;
  return 0;
}

async function* newestEvents(host: Host, ref: ThreadRef): AsyncGenerator<EventRecord> {
  for await (const { record } of host.log(ref, { backward: true })) yield record as EventRecord;
}

export type Ending = {
  type: "workflow_done" | "workflow_failed" | "workflow_cancelled";
  seq: number;
  payload: unknown;
};

/** The end of a run: its time, the number of the ending event, and the run's own ending event. */
type End = { at: number; seq: number; own: EventRecord | null };

/** Returns the end of a row's run; null if the run has not ended. */
export async function endOf(host: Host, row: ThreadRow | null): Promise<End | null> {
  const killed = row?.status === "killed";
  if (!row || !(killed || row.status === "completed" || row.status === "failed")) return null;
  const { last, own } = await lookBack(host, row, row.updatedAt, killed);
  return { at: row.updatedAt, seq: own ? last : last + 1, own };
}

/** Returns the failed step of a run, from the run's own end; null if unknown. */
function failedStepIn(end: End | null): string | null {
  if (end?.own?.type !== "workflow_failed") return null;
  const { failed_step_id: id } = end.own.payload as { failed_step_id?: unknown };
  return typeof id === "string" ? id : null;
}

/**
 * Returns the event that ends a run, from its thread's end record. Uses the run's own event if both agree. Otherwise,
 * as for a run that a client ended, creates an event with the number after the last event.
 */
export async function endingOf(
  host: Host,
  ref: ThreadRef,
  { meta, content: error, timestamp }: EndRecord,
  startedAt: number,
): Promise<Ending> {
  const type = typeOf(meta);
  const { last, own } = await lookBack(host, ref, timestamp, meta.reason === "killed");
  if (own?.type === type) return { type, seq: last, payload: own.payload };
  const failure = type === "workflow_failed" && { error, failed_step_id: null };
  return { type, seq: last + 1, payload: { ...failure, duration_ms: timestamp - startedAt } };
}

function typeOf({ reason, returnCode }: EndRecord["meta"]): Ending["type"] {
  if (reason === "killed") return "workflow_cancelled";
  return reason === "returned" && returnCode === 0 ? "workflow_done" : "workflow_failed";
}

// Maximum number of events to search. A run publishes few events after its own end.
const mostLookedAt = 1000;

/**
 * Returns the number of a run's last event, and the event if it is the run's own end. Ignores later events of killed
 * steps.
 */
async function lookBack(
  host: Host,
  ref: ThreadRef,
  endedAt: number,
  killed: boolean,
): Promise<{ last: number; own: EventRecord | null }> {
  let last: number | null = null;
  let looked = 0;
  for await (const event of newestEvents(host, ref)) {
    const { seq, timestamp, type } = event;
    if (!killed && (type === "workflow_done" || type === "workflow_failed")) {
      return { last: seq, own: event };
    }
    const isLate = killed ? timestamp >= endedAt : timestamp > endedAt;
    if (!isLate) last ??= seq;
    if (type === "workflow_start" || (last !== null && killed)) break;
    if ((looked += 1) > mostLookedAt) break;
  }
  return { last: last ?? 0, own: null };
}
