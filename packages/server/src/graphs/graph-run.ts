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
  WorkflowError,
  type EventRecord,
} from "@uncaged/workflow/host";
import { isThreadId } from "@uncaged/workflow/internal";
import { savedDocument } from "../routes/document.ts";

/** A thread that runs an agent graph. */
export type GraphRun = { ref: ThreadRef; document: Partial<GraphDocument> };

export type Result = Required<RunResult>;

const mostKnown = 100;
const lineType = "graph_log";

/** The runs of agent graphs of a host: threads on their bundles, whoever has started them. */
export class GraphRuns {
  readonly #host: Host;
  readonly #known = new Map<string, Partial<GraphDocument> | null>();
  /** Resolves when the records of before are threads. */
  imported: Promise<void> = Promise.resolve();

  constructor(host: Host) {
    this.#host = host;
  }

  /** The run with an id, or that was imported under it; null for other ids and for threads of other kinds. */
  async find(runId: string): Promise<GraphRun | null> {
    const own = await this.ofThread(runId);
    if (own || !isOldId(runId)) return own;
    await this.imported;
    return await this.ofThread(threadIdOf(runId));
  }

  /** @throws WorkflowError `RUN_NOT_FOUND` (missing) with the text that is documented for the request. */
  async get(runId: string, message = "Run not found"): Promise<GraphRun> {
    const found = await this.find(runId);
    if (found) return found;
    throw WorkflowError.missing("RUN_NOT_FOUND", message, "list them: GET /api/threads");
  }

  /** The run that a thread is; null when there is none with this id, or it is of another kind. */
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

  /** The graph of a bundle, null for the bundle of something else. */
  async documentOf(hash: string): Promise<Partial<GraphDocument> | null> {
    const known = this.#known.get(hash);
    if (known !== undefined) return known;
    const graph = graphIn((await this.#host.descriptor(hash)) ?? {});
    // One that is too long for a descriptor is in the source map.
    const document = graph === null ? await this.#longDocument(hash) : (graph ?? null);
    if (this.#known.size >= mostKnown) this.#known.clear();
    this.#known.set(hash, document);
    return document;
  }

  async #longDocument(hash: string): Promise<Partial<GraphDocument>> {
    const { text } = await savedDocument(this.#host, hash);
    return JSON.parse(text) as Partial<GraphDocument>;
  }

  /** A run as the API gives it: computed from its thread, also while that runs. */
  async result({ ref, document }: GraphRun): Promise<Result> {
    const thread = await this.#host.read(ref);
    const logs = await this.#logs(ref);
    const shown = { result: null, ...thread };
    return runResult({ runId: ref.threadId, document, thread: shown, logs });
  }

  /** The lines of a run's log; those of a fork begin with the ones that it keeps. */
  async #logs(ref: ThreadRef): Promise<WorkflowLogEntry[]> {
    const logs = await this.kept(ref);
    for await (const event of this.#lines(ref)) {
      const entry = await this.#entryOf(ref, event);
      if (entry) logs.push(entry);
    }
    return logs;
  }

  /** The lines that led to the steps which a fork keeps. */
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
      // Its thread was removed: the steps are here, and what was logged of them is gone.
      if (isWorkflowError(error) && error.kind === "missing") return [];
      throw error;
    }
  }

  /** Each interpreter that begins right after an answer reports it: of these lines the first is given. */
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

  /** Whether nothing has come after the step with this number. */
  async isLast(ref: ThreadRef, number: number): Promise<boolean> {
    const view = await this.#host.read(ref);
    return view.steps.length === number && !("result" in view);
  }

  /** The line of a run's log that an event is, with its whole content; null for other events. */
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

/** Which answer of a thread a line reports; null for other lines. */
function answerIn({ payload: { nodeId, type }, step }: EventRecord): string | null {
  return type === "input_received" ? `${String(nodeId)} ${step ?? 0}` : null;
}

/** Whether a text has the form of a run's id: a thread's, or the digits of a program that was before this one. */
export const isRunId = (text: string): boolean => isThreadId(text) || isOldId(text);

export const isOldId = (text: string): boolean => /^\d{1,100}$/.test(text);

const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const latestId = 2n ** 48n - 1n;

/** The thread that a record with an old id becomes: always the same, so that it is imported once. */
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
