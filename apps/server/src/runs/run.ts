import {
  descriptorOf,
  findThread,
  isWorkflowError,
  readNewestEvents,
  readRow,
  readThread,
  type Root,
  type ThreadRef,
  WorkflowError,
} from "@uncaged/workflow/host";
import {
  type Checkpoint,
  type Documents,
  documentsOf,
  recordedCheckpoint,
  recordedSnapshot,
  recordedValues,
  type StepValues,
  stepsBefore,
  type WorkflowSnapshot,
} from "@uncaged/workflow-steps";
import { endedOf, endingSeqOf, failedStepOf } from "./ending.ts";

/** A thread of a step workflow. */
export type Run = { ref: ThreadRef; documents: Documents };

/** A point in a run: before a step's last run, or behind its first steps. */
type Point = { before?: string; steps?: number };

const mostKnown = 100;

/** The runs of a storage root. A bundle never changes: what its descriptor holds is read once. */
export class Runs {
  readonly #root: Root;
  readonly #known = new Map<string, Documents>();

  constructor(root: Root) {
    this.#root = root;
  }

  /** The run with an id; null when there is no such thread, or it is none of a step workflow. */
  async find(id: string): Promise<Run | null> {
    try {
      const ref = await findThread(this.#root, id);
      return { ref, documents: await this.documentsOf(ref.hash) };
    } catch (error) {
      if (isWorkflowError(error) && noRun.has(error.code)) return null;
      throw error;
    }
  }

  /** As {@link find}. @throws WorkflowError `RUN_NOT_FOUND` (missing). */
  async get(id: string): Promise<Run> {
    const found = await this.find(id);
    if (found) return found;
    throw missing("RUN_NOT_FOUND", "not found");
  }

  /** @throws WorkflowError those of `documentsOf`. */
  async documentsOf(hash: string): Promise<Documents> {
    const known = this.#known.get(hash);
    if (known) return known;
    const documents = documentsOf(hash, await descriptorOf(this.#root, hash));
    if (this.#known.size >= mostKnown) this.#known.clear();
    this.#known.set(hash, documents);
    return documents;
  }

  async snapshot({ ref, documents }: Run): Promise<WorkflowSnapshot> {
    // First the number, then what it counts: whoever listens behind it misses nothing.
    const row = await readRow(this.#root, ref);
    const ended = endedOf(row);
    const eventSeq = ended ? endingSeqOf(this.#root, ref, ended) : lastSeqOf(this.#root, ref);
    const thread = await readThread(this.#root, ref);
    const elapsedMs = (ended?.at ?? Date.now()) - thread.createdAt;
    return recordedSnapshot(documents, thread, { elapsedMs, eventSeq });
  }

  /**
   * The state of a run, what it was before the last run of a step, or what its first steps make.
   *
   * @throws WorkflowError `NO_CHECKPOINT` (missing) for an unknown run or step, and for more steps than
   * there are.
   */
  async checkpoint(id: string, { before, steps: count }: Point = {}): Promise<Checkpoint> {
    const { documents, thread } = await this.#recorded(id);
    const first = (kept: number): Checkpoint => {
      const steps = thread.steps.slice(0, kept);
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

  /**
   * What the run of a step began with that the step with a number belongs to.
   *
   * @throws WorkflowError `NO_CHECKPOINT` (missing) for an unknown run, and where nothing comes next.
   */
  async values(id: string, number: number): Promise<StepValues> {
    const { documents, ref, thread } = await this.#recorded(id);
    const isNext = number === thread.steps.length + 1;
    const coming = isNext && thread.status === "failed" ? failedStepOf(this.#root, ref) : null;
    const isThere = isNext || number <= thread.steps.length;
    const values = isThere ? recordedValues(documents, thread, number, coming) : null;
    if (!values) throw missing("NO_CHECKPOINT", "no checkpoint");
    return values;
  }

  async #recorded(id: string) {
    const found = await this.find(id);
    if (!found) throw missing("NO_CHECKPOINT", "no checkpoint");
    return { ...found, thread: await readThread(this.#root, found.ref) };
  }
}

const noRun: ReadonlySet<string> = new Set([
  "THREAD_NOT_FOUND",
  "THREAD_AMBIGUOUS",
  "NO_STEP_WORKFLOW",
]);

/** The `seq` of the last event of a thread that is written; 0 for none. */
export function lastSeqOf(root: Root, ref: ThreadRef): number {
  for (const { seq } of readNewestEvents(root, ref)) return seq;
  return 0;
}

const missing = (code: string, message: string): WorkflowError =>
  new WorkflowError({ code, kind: "missing", message, hint: "ask for a run that is there" });
