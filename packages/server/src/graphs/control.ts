import type { GraphDocument } from "@uncaged/workflow-graph";
import {
  isWorkflowError,
  settled,
  type StartOptions,
  type ThreadRef,
  type ThreadView,
  toErrorRecord,
  type WorkflowError,
  type AnsweredBy,
} from "@uncaged/workflow/host";
import { firstLine } from "@uncaged/workflow/internal";
import type { Context } from "../routes/route.ts";
import { graphRounds, promptOf } from "../routes/drafts.ts";
import type { GraphRun } from "./graph-run.ts";
import {
  graphInvalid,
  graphNotRun,
  nodeNotRun,
  runNotFailed,
  runNotWaiting,
  runResuming,
} from "./errors.ts";

const askedWithinMs = 5_000;

/** Starts, answers, ends and retries runs of graphs. */
export class GraphControl {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /**
   * Builds a graph and starts a thread on its unnamed bundle.
   * @throws WorkflowError `GRAPH_INVALID` (usage), `NO_PROVIDER_KEY`, `GRAPH_NOT_RUN`.
   */
  async start(
    graph: Partial<GraphDocument>,
    { name = "", traceparent }: Pick<StartOptions, "name" | "traceparent">,
  ): Promise<GraphRun> {
    await this.#checkKeys(graph);
    try {
      const started = await this.#startBuilt(graph, { name, traceparent });
      return { ref: started, document: graph };
    } catch (error) {
      throw isOwn(error) ? error : notRun(error);
    }
  }

  /** Starts a thread from the recorded run of another program. */
  async startImported(
    graph: Partial<GraphDocument>,
    threadId: string,
    importedRun: object,
  ): Promise<ThreadRef> {
    return await this.#startBuilt(graph, { threadId, options: { importedRun } });
  }

  async #startBuilt(
    graph: Partial<GraphDocument>,
    { name = "", ...more }: Partial<StartOptions>,
  ): Promise<ThreadRef> {
    const { host, env, cwd, drafts } = this.#context;
    const prompt = promptOf(graph);
    const shown = firstLine(name);
    return await drafts.graph(JSON.stringify(graph), async (workflow) => {
      const options = { workflow, prompt, maxRounds: graphRounds, env, cwd };
      const named = shown === "" ? {} : { name: shown };
      const { hash, threadId } = await host.start({ ...options, ...named, ...more });
      return { hash, threadId };
    });
  }

  /** @throws WorkflowError `GRAPH_INVALID` (usage), `NO_PROVIDER_KEY`. */
  async #checkKeys(graph: Partial<GraphDocument>): Promise<void> {
    try {
      await this.#context.drafts.checkKeys(graph);
    } catch (error) {
      const isInvalid = isWorkflowError(error) && error.code === "GRAPH_INVALID";
      throw isInvalid ? invalid([error.message]) : error;
    }
  }

  /**
   * Returns the number of a waiting run's question.
   * @throws WorkflowError `RUN_RESUMING`, `RUN_NOT_WAITING`.
   */
  async question({ ref }: GraphRun): Promise<number> {
    const view = await this.#asked(ref);
    if (view.status === "waiting") return view.steps.length;
    throw isAnswered(view) ? runResuming() : runNotWaiting();
  }

  /**
   * Answers a question. If several clients answer concurrently, even through different servers, the thread's worker
   * accepts only one answer.
   * @throws WorkflowError `RUN_RESUMING`, `NOT_A_DECISION` (usage).
   */
  async answer(
    { ref }: GraphRun,
    { by, question, value }: { by: AnsweredBy; question: number; value: unknown },
  ): Promise<void> {
    const { host, env } = this.#context;
    const meta = { requestId: crypto.randomUUID() };
    const content = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
    const input = { content, value, meta, by };
    try {
      await host.control(ref, { kind: "answer", input, question, env });
    } catch (error) {
      if (isWorkflowError(error) && taken.has(error.code)) throw runResuming();
      throw error;
    }
  }

  /** Reads a thread. If its question is recorded but not open yet, waits for it. */
  async #asked(ref: ThreadRef): Promise<ThreadView> {
    const { host } = this.#context;
    const view = await host.read(ref);
    const isAsking = view.status === "running" && view.steps.at(-1)?.role === "__wait__";
    if (!isAsking) return view;
    return await settled(host, ref, { signal: AbortSignal.timeout(askedWithinMs) });
  }

  /** Ends a run at once, even if its worker does not respond. Does nothing for an ended run. */
  async cancel({ ref }: GraphRun): Promise<void> {
    const { host, env } = this.#context;
    try {
      await host.control(ref, { kind: "kill", force: true, env });
    } catch (error) {
      if (!isWorkflowError(error) || error.code !== "THREAD_ENDED") throw error;
    }
  }

  /**
   * Continues a failed or interrupted run. With a node, starts a new run at the node's last step.
   * @throws WorkflowError `RUN_NOT_FAILED`, `NODE_NOT_RUN`.
   */
  async retry(
    { ref }: GraphRun,
    { nodeId, traceparent }: { nodeId: string | undefined; traceparent: string | undefined },
  ): Promise<ThreadRef> {
    const { host, env } = this.#context;
    const view = await host.read(ref);
    // Without more rounds, a run that ran out of rounds would fail again.
    const maxRounds = view.steps.length + graphRounds;
    if (nodeId !== undefined) {
      const atStep = view.steps.findLastIndex(({ meta, role }) => (meta.nodeId ?? role) === nodeId);
      if (atStep < 0) throw nodeNotRun(nodeId);
      return await host.fork(ref, { keep: { atStep }, maxRounds, traceparent, env });
    }
    if (view.status === "interrupted") {
      await host.control(ref, { kind: "resume", env });
      return ref;
    }
    if (view.status !== "failed" && view.status !== "killed") throw runNotFailed(view.status);
    const keep = { atStep: view.steps.length };
    return await host.fork(ref, { keep, maxRounds, traceparent, env });
  }
}

/** Returns the documented error for an invalid graph. */
const invalid = (details: string[]): WorkflowError => graphInvalid(invalidGraph, details);

export const invalidGraph = "Invalid workflow graph payload";

const own: ReadonlySet<string> = new Set(["GRAPH_INVALID", "NO_PROVIDER_KEY"]);

const isOwn = (error: unknown): boolean => isWorkflowError(error) && own.has(error.code);

function notRun(error: unknown): unknown {
  if (!isWorkflowError(error)) return error;
  const { message, hint } = toErrorRecord(error);
  // The build copies the graph's texts to a descriptor, which can't hold every JSON value.
  if (error.code === "BAD_DESCRIPTOR") return invalid([message]);
  return graphNotRun({ message, hint }, error);
}

/** Error codes for an answer that arrives after another answer. */
const taken: ReadonlySet<string> = new Set([
  "NOT_LIVE",
  "NOT_WAITING",
  "STALE_ANSWER",
  "THREAD_ENDED",
]);

/** Tells whether a run is continuing after an answer. */
const isAnswered = ({ status, steps }: ThreadView): boolean =>
  status === "running" && steps.some(({ role }) => role === "__input__");
