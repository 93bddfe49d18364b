import type { ThreadContext } from "@uncaged/workflow";
import { messageOf } from "@uncaged/workflow/interpreter";
import type { AgentAnswer, GraphAgents, SubagentCall } from "../agent/agent.ts";
import { type AgentNode, REJECTED } from "../document/graph.ts";
import { guardrailFailed } from "../guardrail/errors.ts";
import type { Guardrails } from "../guardrail/guardrail.ts";
import { decide, promptOf } from "../node/node.ts";
import type { Outline } from "../outline/outline.ts";
import { subagentViolations, treeOf } from "../outline/subagents.ts";
import type { GraphState, NodeRun } from "../state/state.ts";
import { textOf } from "../state/arrivals.ts";
import type { LogType } from "./log.ts";
import { badSubagents, emptyOutput } from "./errors.ts";

/** Result of a node. */
export type Done = { output: unknown; handle?: string; spent: Omit<AgentAnswer, "output"> };

/** Input of a node's work. */
export type Work = {
  run: NodeRun;
  outline: Outline;
  state: GraphState;
  thread: ThreadContext;
  agents: GraphAgents;
  guardrails: Guardrails;
  log: (type: LogType, content: string) => void;
};

/** Runs a node that is not an approval. */
export async function execute(work: Work): Promise<Done> {
  const { log, run, outline, thread } = work;
  const { input, node } = run;
  const none = { spent: {} };
  switch (node.kind) {
    case "start": {
      log("step_start", "start node");
      const isFirst = node === outline.start && thread.start.content !== "";
      return { ...none, output: isFirst ? thread.start.content : node.initialInput };
    }
    case "if": {
      log("step_start", "condition node");
      const { handle, log: lines } = decide(node.conditions, input);
      for (const line of lines) log("logic_check", line);
      return { ...none, output: input, handle };
    }
    case "agent":
      log("step_start", `${node.name} agent node`);
      return await askAgent(work, node);
    default:
      log("step_start", `${node.type} node`);
      log("warn", `Unknown node type "${node.type}" skipped`);
      return { ...none, output: null };
  }
}

async function askAgent(work: Work, node: AgentNode): Promise<Done> {
  const { agents, guardrails, log, outline, run, state, thread } = work;
  const calls = new Calls(node.id, log);
  try {
    const [violation] = subagentViolations(outline);
    if (violation) throw badSubagents(violation.message);
    const { input, reviews } = run;
    const { latestText } = state;
    const { userPrompt } = node;
    const prompt = promptOf({ userPrompt, input, reviews, latestText });
    log("start_prompt", prompt);
    const request = { ...treeOf(outline, node, guardrails), prompt };
    const onCall = calls.take.bind(calls);
    const answer: unknown = await agents(request, { thread, onCall });
    const { cost, model, models, output: given, usage } = answerIn(answer);
    const spent = { cost, model, models, usage };
    const output = checkedOutput(given);
    log("llm_response", textOf(output));
    const found = await guardrails.of(node)?.read(output);
    if (!found) return { output, spent };
    if (found.problems.length === 0) return { output: checkedOutput(found.value), spent };
    const failure = guardrailFailed(node.id, found.problems);
    if (outline.edgesFrom(node.id, REJECTED).length === 0) throw failure;
    log("warn", failure.message);
    return { output, handle: REJECTED, spent };
  } catch (error) {
    if (thread.signal?.aborted) throw error;
    const message = messageOf(error);
    calls.fail(message);
    log("llm_error", message);
    throw error;
  }
}

/**
 * The subagent calls below one node. Every call that has a start event gets an end event, even if the node's agent
 * fails.
 */
class Calls {
  readonly #open = new Map<string, SubagentCall>();
  readonly #nodeId: string;
  readonly #log: Work["log"];

  constructor(nodeId: string, log: Work["log"]) {
    this.#nodeId = nodeId;
    this.#log = log;
  }

  take(call: SubagentCall): void {
    if (call.type === "subagent_call_start") this.#open.set(call.callId, call);
    else if (!this.#open.delete(call.callId)) return;
    const { type, ...rest } = call;
    this.#log(type, JSON.stringify({ type, parentNodeId: this.#nodeId, ...rest }));
  }

  /** Ends all open calls after an error of the agent. */
  fail(message: string): void {
    for (const call of [...this.#open.values()].toReversed()) {
      this.take({ ...call, type: "subagent_call_error", message });
    }
  }
}

/** Reads an agent's answer. A custom agent may return any value. */
const answerIn = (answer: unknown): AgentAnswer =>
  typeof answer === "object" && answer !== null ? (answer as AgentAnswer) : { output: answer };

/** Returns a text, or a copy of an object as JSON. */
function checkedOutput(output: unknown): unknown {
  if (typeof output === "string" && output.trim() !== "") return output;
  if (typeof output === "object" && output !== null) return JSON.parse(JSON.stringify(output));
  if (typeof output === "boolean" || Number.isFinite(output)) return String(output);
  throw emptyOutput();
}
