import type { RunStatus, WorkflowLogEntry } from "@uncaged/workflow-graph/run";
import { isRecord, readJson } from "../../lib/json.ts";
import { type GraphNode, nameOfNode, readDocument, startOf, textOf } from "./graph-document.ts";

type WorkState = "running" | "done" | "failed" | "stopped";

export type Call = {
  id: string;
  nodeId: string;
  name: string;
  state: WorkState;
  message: string | null;
  text: string | null;
  calls: Call[];
};

export type AgentItem = {
  kind: "agent";
  nodeId: string;
  name: string;
  state: WorkState;
  prompt: string | null;
  text: string | null;
  calls: Call[];
};

export type ApprovalItem = {
  kind: "approval";
  nodeId: string;
  name: string;
  prompt: string;
  answer: string | null;
  isRejected: boolean;
  /** Whether the run ended without an answer. */
  isOver: boolean;
};

export type RunItem =
  | { kind: "prompt"; text: string }
  | AgentItem
  | ApprovalItem
  | { kind: "checks"; nodeId: string; name: string; lines: string[] }
  | { kind: "line"; level: "warning" | "error"; name: string | null; text: string };

const unanswered = { answer: null, isRejected: false, isOver: false };

/** Default prompt of an approval. */
const noPrompt = "Approval required before continuing.";

export type Writing = ReadonlyMap<string, readonly string[]>;

const nothingWritten: Writing = new Map();

/** The items of a run's console, with names and prompts from the run's graph. */
export function itemsOf(
  graph: unknown,
  logs: readonly WorkflowLogEntry[],
  status: RunStatus,
  writing = nothingWritten,
): readonly RunItem[] {
  const { nodes } = readDocument(graph);
  const start = startOf({ nodes, lines: [] });
  const items: RunItem[] = [];
  const first = textOf(start?.data.initialInput);
  if (first.trim() !== "") items.push({ kind: "prompt", text: first });
  const taking = new Taking(nodes, items);
  for (const entry of logs) taking.take(entry);
  write(items, writing);
  if (status !== "running" && status !== "pending" && status !== "paused") taking.stop();
  return items;
}

class Taking {
  readonly #nodes: ReadonlyMap<string, GraphNode>;
  readonly #items: RunItem[];
  readonly #last = new Map<string, RunItem>();
  readonly #calls = new Map<string, Call>();

  constructor(nodes: ReadonlyMap<string, GraphNode>, items: RunItem[]) {
    this.#nodes = nodes;
    this.#items = items;
  }

  take({ nodeId, type, content, decision }: WorkflowLogEntry): void {
    switch (type) {
      case "step_start":
        if (this.#nodes.get(nodeId)?.type === "agent") this.#begin(nodeId);
        return;
      case "start_prompt":
        this.#agent(nodeId).prompt = content;
        return;
      case "llm_response":
        return this.#end(nodeId, "done", content);
      case "llm_error":
        return this.#end(nodeId, "failed", content);
      case "logic_check":
        this.#checks(nodeId).lines.push(content);
        return;
      case "wait_input":
        this.#ask(nodeId);
        return;
      case "input_received":
        Object.assign(this.#ask(nodeId), {
          answer: content,
          isRejected: decision === "reject",
        });
        return;
      case "warn":
        return this.#line("warning", nodeId, content);
      case "error":
        return this.#line("error", nodeId, content);
      case "subagent_call_start":
      case "subagent_call_end":
      case "subagent_call_error":
        this.#call(nodeId, type, content);
    }
  }

  /** Marks open items as ended, after the run has ended. */
  stop(): void {
    for (const item of this.#items) {
      if (item.kind === "agent") stop(item);
      if (item.kind === "approval" && item.answer === null) item.isOver = true;
    }
  }

  #nameOf(nodeId: string): string {
    const node = this.#nodes.get(nodeId);
    return node ? nameOfNode(node) : nodeId;
  }

  #push<Item extends RunItem>(nodeId: string, item: Item): Item {
    this.#items.push(item);
    this.#last.set(nodeId, item);
    return item;
  }

  #begin(nodeId: string): AgentItem {
    const before = this.#last.get(nodeId);
    // A new worker restarts a node that was running when its worker was lost.
    const isAgain = this.#nodes.get(nodeId)?.data.join !== "each";
    if (isAgain && before?.kind === "agent") stop(before);
    const name = this.#nameOf(nodeId);
    const nothing = { prompt: null, text: null, calls: [] };
    return this.#push(nodeId, { kind: "agent", nodeId, name, state: "running", ...nothing });
  }

  #agent(nodeId: string): AgentItem {
    const last = this.#last.get(nodeId);
    return last?.kind === "agent" && last.state === "running" ? last : this.#begin(nodeId);
  }

  #end(nodeId: string, state: "done" | "failed", text: string): void {
    Object.assign(this.#agent(nodeId), { state, text });
  }

  #checks(nodeId: string): Extract<RunItem, { kind: "checks" }> {
    const last = this.#items.at(-1);
    if (last?.kind === "checks" && last.nodeId === nodeId) return last;
    return this.#push(nodeId, { kind: "checks", nodeId, name: this.#nameOf(nodeId), lines: [] });
  }

  #ask(nodeId: string): ApprovalItem {
    const last = this.#last.get(nodeId);
    // The log has an approval twice if it waited for another approval.
    if (last?.kind === "approval" && last.answer === null) return last;
    const prompt = textOf(this.#nodes.get(nodeId)?.data.prompt).trim() || noPrompt;
    const name = this.#nameOf(nodeId);
    return this.#push(nodeId, { kind: "approval", nodeId, name, prompt, ...unanswered });
  }

  #line(level: "warning" | "error", nodeId: string, text: string): void {
    const name = nodeId === "system" ? null : this.#nameOf(nodeId);
    this.#items.push({ kind: "line", level, name, text });
  }

  #call(nodeId: string, type: WorkflowLogEntry["type"], content: string): void {
    const { value } = readJson(content);
    if (!isRecord(value)) return;
    const { callId, parentCallId, subagentName, subagentNodeId, message } = value;
    if (typeof callId !== "string") return;
    const text = typeof message === "string" ? message : null;
    if (type !== "subagent_call_start") {
      const open = this.#calls.get(callId);
      const state = type === "subagent_call_end" ? "done" : "failed";
      if (open) Object.assign(open, { state, message: text });
      return;
    }
    const calledId = textOf(subagentNodeId);
    const name = textOf(subagentName) || calledId || callId;
    const nothing = { state: "running" as const, text: null, calls: [] };
    const call: Call = { id: callId, nodeId: calledId, name, message: text, ...nothing };
    const parent = this.#calls.get(textOf(parentCallId));
    (parent ?? this.#agent(nodeId)).calls.push(call);
    this.#calls.set(callId, call);
  }
}

/** Adds the text so far to running agents and subagents. A node may run several times at once. */
function write(items: readonly RunItem[], writing: Writing): void {
  if (writing.size === 0) return;
  const agents = items.filter((item) => item.kind === "agent");
  const atWork = agents
    .flatMap((agent): (AgentItem | Call)[] => [agent, ...agent.calls.flatMap(withInner)])
    .filter(({ state }) => state === "running");
  const byNode = Map.groupBy(atWork, ({ nodeId }) => nodeId);
  for (const [nodeId, texts] of writing) {
    for (const [index, one] of (byNode.get(nodeId) ?? []).entries())
      one.text = texts[index] || null;
  }
}

function stop(one: AgentItem | Call): void {
  if (one.state === "running") one.state = "stopped";
  for (const call of one.calls) stop(call);
}

/** A summary such as "Subagents: 1 running · 2 done · 1 failed". */
export function summaryOf(calls: readonly Call[]): string {
  const all = calls.flatMap(withInner);
  const count = (...states: WorkState[]) =>
    all.filter(({ state }) => states.includes(state)).length;
  const failed = count("failed", "stopped");
  const more = failed > 0 ? ` · ${failed} failed` : "";
  return `Subagents: ${count("running")} running · ${count("done")} done${more}`;
}

const withInner = (call: Call): Call[] => [call, ...call.calls.flatMap(withInner)];

/** The visible status. A completed run with a failed model call counts as failed. */
export const shownStatus = (status: RunStatus, logs: readonly WorkflowLogEntry[]): RunStatus =>
  status === "completed" && logs.some(({ type }) => type === "llm_error") ? "failed" : status;

/** Whether a run was interrupted and can continue. */
export const isInterrupted = (status: RunStatus, logs: readonly WorkflowLogEntry[]): boolean =>
  status === "failed" && logs.findLast(({ type }) => type === "error")?.reason === "interrupted";
