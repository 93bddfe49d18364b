import {
  type Checkpoint,
  type Documents,
  documentsOf,
  recordedCheckpoint,
  recordedSnapshot,
  recordedValues,
  stepsBefore,
  type StepValues,
  type WorkflowSnapshot,
} from "@uncaged/workflow-steps";
import {
  type EndRecord,
  type EventRecord,
  type Host,
  isWorkflowError,
  type ThreadRef,
  type ThreadRow,
  WorkflowError,
} from "@uncaged/workflow/host";

export type Run = { ref: ThreadRef; documents: Documents };

type Point = { before?: string; steps?: number };

const mostKnown = 100;

/** The runs of a host. A bundle never changes: its descriptor is read once. */
export class Runs {
  readonly #host: Host;
  readonly #known = new Map<string, Documents>();

  constructor(host: Host) {
    this.#host = host;
  }

  /** The run with an id; null when there is no such thread, or it is none of a step workflow. */
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
    throw missing("RUN_NOT_FOUND", "not found");
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
    // First the number, then what it counts: a client that follows from it misses nothing.
    const row = await this.#host.row(ref);
    const ended = endedOf(row);
    const eventSeq = await (ended
      ? endingSeqOf(this.#host, ref, ended)
      : lastSeqOf(this.#host, ref));
    const thread = await this.#host.read(ref);
    const elapsedMs = (ended?.at ?? Date.now()) - thread.createdAt;
    const failedStepID =
      thread.status === "failed" ? await failedStepOf(this.#host, ref) : undefined;
    return recordedSnapshot(documents, thread, { elapsedMs, eventSeq, failedStepID });
  }

  /** The state of a run: now, before the last execution of a step, or after its first steps. */
  async checkpoint(id: string, { before, steps: count }: Point = {}): Promise<Checkpoint> {
    const { documents, thread } = await this.#recorded(id);
    const first = (length: number): Checkpoint => {
      const steps = thread.steps.slice(0, length);
      return recordedCheckpoint(documents, { ...thread, steps, status: "running" });
    };
    if (count !== undefined) {
      if (count > thread.steps.length) throw missing("NO_CHECKPOINT", "no checkpoint");
      return count === thread.steps.length ? recordedCheckpoint(documents, thread) : first(count);
    }
    if (before === undefined) return recordedCheckpoint(documents, thread);
    const isStep = documents.document.steps.some((step) => step.id === before);
    if (!isStep) throw missing("NO_CHECKPOINT", "no checkpoint");
    return first(stepsBefore(thread.steps, before) ?? 0);
  }

  /** The values that were in force where the step with this number began. */
  async values(id: string, number: number): Promise<StepValues> {
    const { documents, ref, thread } = await this.#recorded(id);
    const isNext = number === thread.steps.length + 1;
    const coming =
      isNext && thread.status === "failed" ? await failedStepOf(this.#host, ref) : null;
    const isThere = isNext || number <= thread.steps.length;
    const values = isThere ? recordedValues(documents, thread, number, coming) : null;
    if (!values) throw missing("NO_CHECKPOINT", "no checkpoint");
    return values;
  }

  async #recorded(id: string) {
    const found = await this.find(id);
    if (!found) throw missing("NO_CHECKPOINT", "no checkpoint");
    return { ...found, thread: await this.#host.read(found.ref) };
  }
}

const noRun: ReadonlySet<string> = new Set([
  "THREAD_NOT_FOUND",
  "THREAD_AMBIGUOUS",
  "NO_STEP_WORKFLOW",
]);

/** The `seq` of the last event of a thread that is written; 0 for none. */
export async function lastSeqOf(host: Host, ref: ThreadRef): Promise<number> {
  for await (const { seq } of newestEvents(host, ref)) return seq;
  return 0;
}

async function* newestEvents(host: Host, ref: ThreadRef): AsyncGenerator<EventRecord> {
  for await (const { record } of host.log(ref, { backward: true })) yield record as EventRecord;
}

const missing = (code: string, message: string): WorkflowError =>
  new WorkflowError({ code, kind: "missing", message, hint: "ask for a run that is there" });

export type Ending = {
  type: "workflow_done" | "workflow_failed" | "workflow_cancelled";
  seq: number;
  payload: unknown;
};

type Ended = { at: number; killed: boolean };

// A run publishes little after its own end.
const mostLookedAt = 1000;

/**
 * The event that ends a run, by its thread's end record. It is the run's own where the two agree; a run
 * that was ended from outside has none, and gets the number after its last event.
 *
 * @param startedAt In milliseconds since the epoch.
 */
export async function endingOf(
  host: Host,
  ref: ThreadRef,
  end: EndRecord,
  startedAt: number,
): Promise<Ending> {
  const type = typeOf(end);
  const killed = end.meta.reason === "killed";
  const { last, own } = await lookBack(host, ref, { at: end.timestamp, killed });
  if (own?.type === type) return { type, seq: last, payload: own.payload };
  const duration_ms = end.timestamp - startedAt;
  const failure = { error: end.content, failed_step_id: null };
  return {
    type,
    seq: last + 1,
    payload: { ...(type === "workflow_failed" && failure), duration_ms },
  };
}

/** The number of the event that ends a run that has ended. */
export async function endingSeqOf(host: Host, ref: ThreadRef, ended: Ended): Promise<number> {
  const { last, own } = await lookBack(host, ref, ended);
  return own ? last : last + 1;
}

/** The step that a run failed at, by its events; null when that is not known. */
async function failedStepOf(host: Host, ref: ThreadRef): Promise<string | null> {
  let looked = 0;
  for await (const { payload, type } of newestEvents(host, ref)) {
    if (type === "workflow_failed") {
      const { failed_step_id: id } = payload as { failed_step_id?: unknown };
      return typeof id === "string" ? id : null;
    }
    if (type === "workflow_start" || (looked += 1) > mostLookedAt) break;
  }
  return null;
}

export function endedOf(row: ThreadRow | null): Ended | null {
  if (row?.status === "killed") return { at: row.updatedAt, killed: true };
  const hasEnded = row?.status === "completed" || row?.status === "failed";
  return hasEnded ? { at: row.updatedAt, killed: false } : null;
}

function typeOf({ meta: { reason, returnCode } }: EndRecord): Ending["type"] {
  if (reason === "killed") return "workflow_cancelled";
  return reason === "returned" && returnCode === 0 ? "workflow_done" : "workflow_failed";
}

/**
 * The number of a run's last event, and that event if it is the run's own end. What killed steps publish
 * while they unwind no longer belongs to the run.
 */
async function lookBack(
  host: Host,
  ref: ThreadRef,
  { at, killed }: Ended,
): Promise<{ last: number; own: EventRecord | null }> {
  let last: number | null = null;
  let looked = 0;
  for await (const event of newestEvents(host, ref)) {
    const { seq, timestamp, type } = event;
    if (!killed && (type === "workflow_done" || type === "workflow_failed")) {
      return { last: seq, own: event };
    }
    const isLate = killed ? timestamp >= at : timestamp > at;
    if (!isLate) last ??= seq;
    if (type === "workflow_start" || (last !== null && killed)) break;
    if ((looked += 1) > mostLookedAt) break;
  }
  return { last: last ?? 0, own: null };
}
