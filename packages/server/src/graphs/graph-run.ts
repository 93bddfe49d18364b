import { createHash } from "node:crypto";
import { type GraphDocument, graphIn } from "@uncaged/workflow-graph";
import {
  type RunResult,
  runResult,
  wholeLogEntry,
  type WorkflowLogEntry,
} from "@uncaged/workflow-graph/run";
import {
  type Host,
  isWorkflowError,
  type ThreadRef,
  type EventRecord,
} from "@uncaged/workflow/host";
import { isThreadId } from "@uncaged/workflow/internal";
import { savedDocument } from "../routes/document.ts";
import { runNotFound } from "./errors.ts";

/** A thread that runs an agent graph. */
export type GraphRun = { ref: ThreadRef; document: Partial<GraphDocument> };

export type Result = Required<RunResult>;

const mostKnown = 100;
const lineType = "graph_log";

/** The runs of agent graphs on a host: all threads on their bundles, from any client. */
export class GraphRuns {
  readonly #host: Host;
  readonly #known = new Map<string, Partial<GraphDocument> | null>();
  /** Resolves when the records of earlier versions are imported as threads. */
  imported: Promise<void> = Promise.resolve();

  constructor(host: Host) {
    this.#host = host;
  }

  /** Returns the run with an id, native or imported; null for other ids and for threads of other kinds. */
  async find(runId: string): Promise<GraphRun | null> {
    const own = await this.ofThread(runId);
    if (own || !isOldId(runId)) return own;
    await this.imported;
    return await this.ofThread(threadIdOf(runId));
  }

  /** Like {@link find}. @throws WorkflowError `RUN_NOT_FOUND` (missing) with the documented text. */
  async get(runId: string, message?: string): Promise<GraphRun> {
    const found = await this.find(runId);
    if (found) return found;
    throw runNotFound(message);
  }

  /** Returns the run of a thread; null for a missing thread and for a thread of another kind. */
  async ofThread(threadId: string): Promise<GraphRun | null> {
    if (!isThreadId(threadId)) return null;
    try {
      const ref = await this.#host.find(threadId);
      const document = await this.documentOf(ref.hash);
      return document && { ref, document };
    } catch (error) {
      if (isWorkflowError(error) && error.kind === "missing") return null;
      throw error;
    }
  }

  /** Returns the graph of a bundle; null for other bundles. */
  async documentOf(hash: string): Promise<Partial<GraphDocument> | null> {
    const known = this.#known.get(hash);
    if (known !== undefined) return known;
    const graph = graphIn((await this.#host.descriptor(hash)) ?? {});
    // The source map has graphs that are too long for a descriptor.
    const document = graph === null ? await this.#longDocument(hash) : (graph ?? null);
    if (this.#known.size >= mostKnown) this.#known.clear();
    this.#known.set(hash, document);
    return document;
  }

  async #longDocument(hash: string): Promise<Partial<GraphDocument>> {
    const { text } = await savedDocument(this.#host, hash);
    return JSON.parse(text) as Partial<GraphDocument>;
  }

  /** Computes the API's view of a run from its thread, even while the run is in progress. */
  async result({ ref, document }: GraphRun): Promise<Result> {
    const thread = await this.#host.read(ref);
    const logs = await this.#logs(ref);
    const shown = { result: null, ...thread };
    return runResult({ runId: ref.threadId, document, thread: shown, logs });
  }

  /** Returns the lines of a run's log. A fork's log begins with the kept lines. */
  async #logs(ref: ThreadRef): Promise<WorkflowLogEntry[]> {
    const logs = await this.kept(ref);
    for await (const event of this.#lines(ref)) {
      const entry = await this.#entryOf(ref, event);
      if (entry) logs.push(entry);
    }
    return logs;
  }

  /** Returns the log lines of the steps that a fork keeps. */
  async kept(ref: ThreadRef): Promise<WorkflowLogEntry[]> {
    const { forkFrom, steps } = await this.#host.read(ref);
    if (!forkFrom) return [];
    const kept = steps.slice(0, forkFrom.steps);
    const attempts = new Set(kept.flatMap(({ attempt }) => attempt ?? []));
    try {
      const source = await this.#host.find(forkFrom.threadId);
      const logs = await this.kept(source);
      for await (const event of this.#lines(source)) {
        const isKept =
          event.attempt === undefined
            ? (event.step ?? 0) <= forkFrom.steps && event.payload.type !== "error"
            : attempts.has(event.attempt);
        const entry = isKept ? await this.#entryOf(source, event) : null;
        if (entry) logs.push(entry);
      }
      return logs;
    } catch (error) {
      // The parent thread was removed. This thread has copies of the parent's steps, but not of its log lines.
      if (isWorkflowError(error) && error.kind === "missing") return [];
      throw error;
    }
  }

  /** Yields the lines of a log without duplicates: after an answer, each new interpreter reports the answer again. */
  async *#lines(ref: ThreadRef): AsyncGenerator<EventRecord> {
    const answers = new Set<string>();
    for await (const { record } of this.#host.log(ref, { only: [lineType] })) {
      const event = record as EventRecord;
      const answer = answerIn(event);
      if (answer !== null && answers.has(answer)) continue;
      if (answer !== null) answers.add(answer);
      yield event;
    }
  }

  /** Tells whether the step with this number is the last. */
  async isLast(ref: ThreadRef, number: number): Promise<boolean> {
    const view = await this.#host.read(ref);
    return view.steps.length === number && !("result" in view);
  }

  /** Returns an event as a line of a run's log, with full content; null for events outside of the run's log. */
  async entry(ref: ThreadRef, event: EventRecord): Promise<WorkflowLogEntry | null> {
    if (event.type !== lineType || (await this.#isRepeated(ref, event))) return null;
    return await this.#entryOf(ref, event);
  }

  async #isRepeated(ref: ThreadRef, event: EventRecord): Promise<boolean> {
    const answer = answerIn(event);
    if (answer === null) return false;
    for await (const line of this.#lines(ref)) {
      if (answerIn(line) === answer) return line.seq !== event.seq;
    }
    return false;
  }

  #entryOf(ref: ThreadRef, event: EventRecord): Promise<WorkflowLogEntry | null> {
    return wholeLogEntry(event, (at) => this.#host.value(ref, at));
  }
}

/** Returns the key of the answer that a line reports; null for any other line. */
function answerIn({ payload: { nodeId, type }, step }: EventRecord): string | null {
  return type === "input_received" ? `${String(nodeId)} ${step ?? 0}` : null;
}

/** Tells whether a text has the form of a run id: a thread id, or the digits of an imported record's id. */
export const isRunId = (text: string): boolean => isThreadId(text) || isOldId(text);

export const isOldId = (text: string): boolean => /^\d{1,100}$/.test(text);

const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const latestId = 2n ** 48n - 1n;

/**
 * Returns the thread id for a record with an old id. The same record always gets the same id, so it is imported only
 * once.
 */
export function threadIdOf(oldId: string): string {
  const time = BigInt(oldId) % (latestId + 1n);
  const hash = createHash("sha256").update(`imported run ${oldId}`).digest();
  const random = BigInt(`0x${hash.subarray(0, 10).toString("hex")}`);
  let rest = (time << 80n) | random;
  let text = "";
  for (let n = 0; n < 26; n += 1) {
    text = `${digits[Number(rest & 31n)]}${text}`;
    rest >>= 5n;
  }
  return text;
}
