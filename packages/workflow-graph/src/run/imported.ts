import { decisionOf } from "@uncaged/workflow/interpreter";
import { type RoleOutput, WAIT } from "@uncaged/workflow";
import { type Graph, readGraph } from "../document/graph.ts";
import type { GraphDocument } from "../document/schema.ts";
import { answerSchema, tokenOf } from "../interpreter/interpreter.ts";
import type { WorkflowLogEntry } from "../interpreter/log.ts";
import type { ApprovalMeta, ImportedState } from "../state/state.ts";
import type { RunRecord } from "./run.ts";

/** The open question of an imported run, with all earlier steps and the run's log. */
export type ImportedRun = { wait: RoleOutput; logs: WorkflowLogEntry[] };

type Fields = Record<string, unknown>;

/**
 * Returns the reason why a thread can't continue another program's record of a run; null for a record with a graph and
 * a paused approval.
 */
export function importProblem(record: unknown): string | null {
  const { currentNodeId, state, status, waitingForInput, workflow } = fieldsOf(record);
  if (status !== "paused" || waitingForInput !== true) return "it does not wait for an answer";
  if (!isFields(state)) return "it has no state";
  if (!isFields(workflow)) return "it has no graph";
  try {
    const { nodes } = readGraph(workflow);
    if (nodes.some(({ id, kind }) => kind === "approval" && id === currentNodeId)) return null;
    return `${JSON.stringify(currentNodeId) ?? "nothing"}, the current node, is not an approval`;
  } catch (error) {
    return (error as Error).message;
  }
}

/**
 * Returns the first question of a thread for an imported run, from the thread's option `importedRun`; null without this
 * option.
 */
export function importedRun(document: Partial<GraphDocument>, option: unknown): ImportedRun | null {
  const record = { ...fieldsOf(option), workflow: document };
  if (!isFields(option) || importProblem(record) !== null) return null;
  const { currentNodeId, logs, state: given } = record as unknown as RunRecord;
  const graph = readGraph(document);
  const [nodeId, state] = [String(currentNodeId), given ?? {}];
  const { name = "", prompt = "" } = (graph.nodes.find(({ id }) => id === nodeId) ?? {}) as Fields;
  const input = state.pre_approval_output ?? inputTo(nodeId, state);
  const imported = importedState(graph, state);
  const meta: ApprovalMeta = {
    ...{ for: "approval", nodeId, name, run: 1, prompt, input },
    ...{ schema: answerSchema, token: tokenOf(nodeId, 1), imported },
  };
  const content = String(prompt).trim() || "Approval required before continuing.";
  return {
    wait: { role: WAIT, content, meta },
    logs: Array.isArray(logs) ? logs.filter(isEntry) : [],
  };
}

function importedState(graph: Graph, state: Fields): ImportedState {
  const own = Object.entries(state).filter(
    ([key]) => !/^__.*__$/.test(key) && key !== "previous_output" && key !== "pre_approval_output",
  );
  const isAnswer = (key: string): boolean =>
    graph.nodes.some(({ id, kind }) => kind === "approval" && key === `${id}_approval`);
  const answers = own.filter(([key]) => isAnswer(key));
  return {
    outputs: Object.fromEntries(own.filter(([key]) => !isAnswer(key))),
    previousOutput: state.previous_output,
    answers: Object.fromEntries(
      answers.flatMap(([key, value]) => {
        const answer = decisionOf(value);
        return answer ? [[key.replace(/_approval$/, ""), answer]] : [];
      }),
    ),
    queued: idsIn(state.__pending_approval_queue__)
      .filter((id) => graph.nodes.some((node) => node.id === id && node.kind === "approval"))
      .map((id) => ({ nodeId: id, input: inputTo(id, state) })),
    deferred: idsIn(state.__deferred_node_queue__).flatMap((id) => deferredIn(graph, state, id)),
  };
}

/** Returns the outputs that had reached a deferred node. */
function deferredIn({ edges }: Graph, state: Fields, nodeId: string): ImportedState["deferred"] {
  const sources = edges.filter(
    ({ source, target }) => target === nodeId && Object.hasOwn(state, source),
  );
  const known = sources.map(({ source }) => ({ nodeId, from: source, input: state[source] }));
  return known.length > 0 ? known : [{ nodeId, from: "", input: state.previous_output ?? null }];
}

function inputTo(id: string, state: Fields): unknown {
  const contexts = fieldsOf(state.__approval_contexts__);
  return (Object.hasOwn(contexts, id) ? contexts[id] : state.previous_output) ?? null;
}

/** Returns the ids in a queue, which contains texts or objects. */
function idsIn(queue: unknown): string[] {
  const ids = (Array.isArray(queue) ? queue : []).map((one: unknown) =>
    isFields(one) ? (one.nodeId ?? one.id) : one,
  );
  return ids.filter((id): id is string => typeof id === "string");
}

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});

const isEntry = (entry: unknown): entry is WorkflowLogEntry => {
  const { content, nodeId, timestamp, type } = fieldsOf(entry);
  return (
    [content, nodeId, type].every((one) => typeof one === "string") && typeof timestamp === "number"
  );
};
