import type {
  ApprovalInput,
  RunRecord,
  RunResult,
  RunStatus,
  WorkflowLogEntry,
} from "@uncaged/workflow-graph/run";
import { ApiError } from "../../lib/request.ts";
import {
  answerRun,
  cancelRun,
  followRun,
  readRun,
  retryRun,
  type RunMessage,
  startRun,
} from "./run-client.ts";
import { isInterrupted } from "./run-view.ts";

/** The graph of a run, which may be invalid. */
export type RunGraph = RunRecord["workflow"];

/** A visible run with a copy of its graph, independent of edits. */
export type ShownRun = {
  runId: string;
  graph: RunGraph;
  status: RunStatus;
  logs: readonly WorkflowLogEntry[];
  /** The open approval, with the number of its question and its subject. */
  asking: { nodeId: string; question: number; subject: unknown } | null;
  /** Whether the run pauses while other nodes are still running. The user can't answer the approval yet. */
  isPausing: boolean;
  /** Whether the run is paused without an open question. */
  isLost: boolean;
};

export type RunState = {
  run: ShownRun | null;
  /** The pending request; null for none. */
  busy: "starting" | "recovering" | "answering" | "cancelling" | "retrying" | null;
  /** The graph of a run that is starting. */
  starting: RunGraph | null;
  /** The error of the last request; null for none. */
  problem: string | null;
};

/** Storage key of the run's id, which survives a reload. */
export const runKey = "agentflow-run-id";

const nothing: RunState = { run: null, busy: null, starting: null, problem: null };

const isActive = (status: RunStatus): boolean => status === "running" || status === "pending";

/** Whether a run is active or waits for an answer. Another run can't start meanwhile. */
export const isOpen = ({ status, isLost }: ShownRun): boolean =>
  isActive(status) || (status === "paused" && !isLost);

/** A run of an editor: starts, follows, answers, cancels and restores it. */
export class RunSession {
  #state = nothing;
  readonly #listeners = new Set<() => void>();
  /** Aborted to stop following the previous run. */
  #following = new AbortController();
  readonly #againMs: number;

  /** `againMs` is the delay before reconnecting. */
  constructor(againMs = 2_000) {
    this.#againMs = againMs;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly snapshot = (): RunState => this.#state;

  #set(change: Partial<RunState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }

  #setRun(change: Partial<ShownRun>): void {
    const { run } = this.#state;
    if (run) this.#set({ run: { ...run, ...change } });
  }

  /** Restores the run that was visible before a reload. */
  recover(): void {
    const runId = stored.read();
    if (runId === null) return;
    this.#set({ busy: "recovering" });
    void this.#follow(runId, this.#begin());
  }

  close(): void {
    this.#following.abort();
  }

  /** Starts a run. Its thread shows the document's name. */
  async start(graph: RunGraph, name?: string): Promise<void> {
    const copy = structuredClone(graph);
    const signal = this.#begin();
    this.#set({ ...nothing, busy: "starting", starting: copy });
    await this.#read(startRun(copy, name, signal), signal, copy);
  }

  async answer(answer: ApprovalInput): Promise<void> {
    const { run } = this.#state;
    if (!run?.asking) return;
    const { question } = run.asking;
    const signal = this.#begin();
    this.#set({ busy: "answering", problem: null });
    await this.#read(answerRun(run.runId, question, answer, signal), signal, run.graph);
  }

  /** Cancels the run. The stream or the next read updates the status. */
  async cancel(): Promise<void> {
    const { run } = this.#state;
    if (!run) return;
    this.#set({ busy: "cancelling", problem: null });
    try {
      await cancelRun(run.runId);
      await this.#follow(run.runId, this.#begin());
    } catch (error) {
      this.#set({ busy: null, problem: textOf(error) });
    }
  }

  /** Retries failed nodes, or a node and its successors. Earlier steps are kept. */
  async retry(nodeId?: string): Promise<void> {
    const { run } = this.#state;
    if (!run) return;
    this.#set({ busy: "retrying", problem: null });
    try {
      const { runId } = await retryRun(run.runId, nodeId);
      stored.write(runId);
      await this.#follow(runId, this.#begin());
    } catch (error) {
      this.#set({ busy: null, problem: textOf(error) });
    }
  }

  clear(): void {
    this.#begin();
    stored.write(null);
    this.#set(nothing);
  }

  #begin(): AbortSignal {
    this.#following.abort();
    this.#following = new AbortController();
    return this.#following.signal;
  }

  /** Reads the stream of a request. If the stream breaks, follows the run instead. */
  async #read(
    events: AsyncIterable<RunMessage>,
    signal: AbortSignal,
    graph: RunGraph,
  ): Promise<void> {
    try {
      if (await this.#takeAll(events, signal, graph)) return;
    } catch (error) {
      if (signal.aborted) return;
      const isRefused = error instanceof ApiError && error.status !== 0;
      const isUnknown = isRefused && error.status === 404;
      if (isUnknown) return this.#forget(error.message);
      this.#set({ busy: null, starting: null, problem: textOf(error) });
      const { run } = this.#state;
      if (!run || (isRefused && error.status !== 409)) return;
      // Another client may have answered, or other nodes are still running.
      await this.#follow(run.runId, signal);
      if (isRefused && this.#state.run?.asking) this.#set({ problem: error.message });
      return;
    }
    const { run } = this.#state;
    if (run && !signal.aborted) await this.#follow(run.runId, signal);
    else if (!signal.aborted) this.#set({ busy: null, starting: null });
  }

  async #takeAll(
    events: AsyncIterable<RunMessage>,
    signal: AbortSignal,
    graph: RunGraph,
  ): Promise<boolean> {
    for await (const event of events) {
      if (signal.aborted) return true;
      switch (event.type) {
        case "start":
          this.#started(event.runId, graph);
          break;
        case "log":
          this.#setRun({ logs: [...(this.#state.run?.logs ?? []), event.entry] });
          break;
        case "done":
          this.#show({ workflow: graph, ...event.result });
          return true;
        case "error":
          this.#set({ problem: event.message });
          return false;
      }
    }
    return false;
  }

  #started(runId: string, graph: RunGraph): void {
    stored.write(runId);
    const before = this.#state.run?.runId === runId ? this.#state.run.logs : [];
    const run: ShownRun = {
      ...{ runId, graph, status: "running", logs: before },
      ...{ asking: null, isPausing: false, isLost: false },
    };
    this.#set({ run, busy: null, starting: null, problem: null });
  }

  #show({
    runId,
    status,
    logs,
    workflow,
    waitingForInput,
    currentNodeId,
    question,
    state,
  }: RunResult | RunRecord): void {
    const isWaiting = status === "paused" && waitingForInput === true;
    const nodeId = isWaiting ? currentNodeId : null;
    const canAnswer = typeof nodeId === "string" && typeof question === "number";
    const run: ShownRun = {
      ...{ runId, status, logs, graph: workflow ?? this.#state.run?.graph ?? {} },
      asking: canAnswer ? { nodeId, question, subject: state?.pre_approval_output } : null,
      isPausing: isWaiting && !canAnswer,
      isLost: status === "paused" && !isWaiting,
    };
    // An interrupted run can continue after a reload.
    if (!isActive(status) && !isWaiting && !isInterrupted(status, logs)) stored.write(null);
    this.#set({ run, busy: null, starting: null });
  }

  #forget(problem: string | null): void {
    stored.write(null);
    this.#set({ ...nothing, problem });
  }

  /** Reads a run and follows it until it ends or asks. Reconnects while the server is unreachable. */
  async #follow(runId: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const record = await readRun(runId, signal);
        if (signal.aborted) return;
        this.#set({ problem: null });
        this.#show(record);
        // Nodes that run concurrently with an approval continue after the run has paused.
        const { run } = this.#state;
        if (!run || !(isActive(run.status) || run.isPausing || run.asking)) return;
        if (await this.#catchUp(followRun(runId, signal), signal)) return;
      } catch (error) {
        if (signal.aborted) return;
        const status = error instanceof ApiError ? error.status : 0;
        if (status === 404 || status === 400) return this.#forget(null);
        if (status !== 0 || !this.#state.run) this.#set({ problem: textOf(error) });
      }
      await new Promise((done) => setTimeout(done, this.#againMs));
    }
  }

  /** Reads a stream from the run's start and skips the known part of the log. */
  async #catchUp(events: AsyncIterable<RunMessage>, signal: AbortSignal): Promise<boolean> {
    const logs: WorkflowLogEntry[] = [];
    for await (const event of events) {
      if (signal.aborted) return true;
      if (event.type === "log") {
        logs.push(event.entry);
        if (logs.length > (this.#state.run?.logs.length ?? 0)) this.#setRun({ logs: [...logs] });
      }
      if (event.type === "error") return false;
      if (event.type !== "done") continue;
      this.#show(event.result);
      return true;
    }
    return false;
  }
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Storage of the run's id. Without it, a reload does not restore the run. */
const stored = {
  read(): string | null {
    try {
      return localStorage.getItem(runKey);
    } catch {
      return null;
    }
  },
  write(runId: string | null): void {
    try {
      if (runId === null) localStorage.removeItem(runKey);
      else localStorage.setItem(runKey, runId);
    } catch {
      // The storage is full or disabled.
    }
  },
};
