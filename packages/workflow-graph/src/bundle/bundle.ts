import {
  answersFromFixture,
  noAnswer,
  opensAttempts,
  QuestionLog,
  stepKey,
  folderOf,
} from "@uncaged/workflow/interpreter";
import {
  type Bundle,
  type Descriptor,
  eventsChannel,
  INPUT,
  type RoleOutput,
  START,
  type ThreadContext,
  type ThreadInput,
  WAIT,
  type WorkflowEvent,
  type WorkflowFn,
  type WorkflowOptions,
  type WorkflowResult,
} from "@uncaged/workflow";
import { channel } from "node:diagnostics_channel";
import type { GraphAgents, SchemaCheck } from "../agent/agent.ts";
import { type Graph, readGraph } from "../document/graph.ts";
import type { GraphDocument } from "../document/schema.ts";
import { Guardrails } from "../guardrail/guardrail.ts";
import { Interpreter } from "../interpreter/interpreter.ts";
import { importedLogEvent } from "../interpreter/log.ts";
import { Outline } from "../outline/outline.ts";
import { type ImportedRun, importedRun } from "../run/imported.ts";
import { type ApprovalMeta, GraphState, type Progress } from "../state/state.ts";
import { textOf } from "../state/arrivals.ts";
import { noAgents, noStartNode } from "./errors.ts";

/** Options for the threads of a graph's bundle. */
export type GraphOptions = {
  /** Runs the agents. Without it, each agent fails. */
  agents?: GraphAgents;
  /** Maximum number of concurrent agents. Defaults to the thread's option of the same name, else to 8. */
  maxConcurrency?: number;
  /** Checks the schemas of guardrails. Without it, an agent whose guardrail has a schema fails. */
  schemas?: SchemaCheck;
};

/**
 * Makes a bundle from an agent graph. Each finished node is a step of the thread, an approval is a question, and other
 * events go to the workflow's channel.
 *
 *     export const { run, descriptor } = graphBundle(graph, { agents: modelAgents() });
 *
 * @throws WorkflowError `GRAPH_INVALID`
 */
export function graphBundle(
  document: Partial<GraphDocument>,
  options: GraphOptions = {},
): Bundle & { descriptor: GraphDescriptor } {
  const graph = readGraph(document);
  const outline = new Outline(graph);
  const run: WorkflowFn = async function* (input, given) {
    const imported = importedRun(document, given.importedRun);
    return yield* runThread({ outline, imported }, input, given, options);
  };
  return {
    descriptor: describeGraph(document, graph),
    run: Object.assign(run, { [opensAttempts]: true, [answersFromFixture]: "each" }),
  };
}

async function* runThread(
  { imported, outline }: { outline: Outline; imported: ImportedRun | null },
  input: ThreadInput,
  options: WorkflowOptions,
  { agents = missingAgents, maxConcurrency = limitIn(options), schemas }: GraphOptions,
): AsyncGenerator<RoleOutput, WorkflowResult, RoleOutput | undefined> {
  const isImport = imported !== null && input.steps.length === 0;
  const steps = isImport ? yield* askAgain(imported) : input.steps;
  const state = new GraphState(outline);
  let reached: Progress["reached"] = [];
  const questions = new QuestionLog();
  for (const step of steps) {
    reached = state.apply(step).reached;
    questions.take(step);
  }
  const { attempts, maxRounds } = options;
  const thread = threadOf({ ...input, steps }, options);
  const keyOf = (id: string, run: number) => stepKey(options, id, run);
  const guardrails = new Guardrails(schemas);
  const own = { thread, agents, guardrails, recorded: options.recorded, keyOf, questions };
  const around = { ...own, attempts, publish, maxRounds, maxConcurrency };
  const interpreter = new Interpreter(outline, state, steps.length, around);
  if (outline.start === null) {
    const message = "No start node found in workflow graph";
    interpreter.log("system", "error", message);
    throw noStartNode(message);
  }
  const [asked, answer] = steps.slice(-2);
  if (asked?.role === WAIT && answer?.role === INPUT && asked.meta.for === "approval") {
    // No interpreter was running when this answer arrived, so log the answer now.
    interpreter.logAnswer(asked.meta as ApprovalMeta, answer);
  }
  yield* interpreter.items(reached);
  return { returnCode: 0, summary: summaryOf([...state.outputs.values()].at(-1)) };
}

/** Starts the thread of an imported run with the run's log and open question. */
async function* askAgain({
  logs,
  wait,
}: ImportedRun): AsyncGenerator<RoleOutput, RoleOutput[], RoleOutput | undefined> {
  for (const line of logs) publish(importedLogEvent(line));
  const answer = yield wait;
  if (answer?.role !== INPUT) throw noAnswer(`the graph waits at ${String(wait.meta.nodeId)}`);
  return [wait, answer];
}

/** Returns the context of a thread. All agents share one copy of its steps, so that their spending adds up. */
function threadOf({ prompt, steps }: ThreadInput, options: WorkflowOptions): ThreadContext {
  const { threadId, maxRounds, attempts, env, signal, blobs, journal, shared } = options;
  return {
    threadId,
    start: { role: START, content: prompt, meta: { maxRounds, threadId }, timestamp: 0 },
    steps: steps.map((step) => ({ timestamp: 0, ...step })),
    ...{ attempts, cwd: folderOf(options), env, signal, blobs, journal, shared, options },
  };
}

const publish = (event: WorkflowEvent): void => channel(eventsChannel).publish(event);

const missingAgents: GraphAgents = async () => {
  throw noAgents();
};

const defaultConcurrency = 8;

const limitIn = ({ maxConcurrency }: WorkflowOptions): number =>
  Number.isSafeInteger(maxConcurrency) && Number(maxConcurrency) > 0
    ? Number(maxConcurrency)
    : defaultConcurrency;

function summaryOf(output: unknown): string {
  const text = textOf(output).trim();
  return text.length > longestText ? `${text.slice(0, longestText)}…` : text;
}

const maxRounds = 1000;

// In characters of JSON. A whole descriptor is limited to 1 Mi characters.
const longestGraph = 512 * 1024;
const longestRoles = 384 * 1024;
const longestText = 2000;

/** Descriptor of an agent graph, with the document as JSON; null if the document is too long for a descriptor. */
export type GraphDescriptor = Descriptor & { agentGraph: { document: string | null } };

/** Returns the descriptor of a graph's bundle: a role for each node, and the graph itself for drawing. */
function describeGraph(document: Partial<GraphDocument>, { nodes }: Graph): GraphDescriptor {
  const roles = Object.fromEntries(
    nodes.map(({ id, name }) => [id, { description: name.slice(0, longestText), schema: true }]),
  );
  const text = JSON.stringify(document);
  const { description } = document;
  return {
    description:
      (typeof description === "string" && description.trim().slice(0, longestText)) ||
      `An agent graph of ${nodes.length} ${nodes.length === 1 ? "node" : "nodes"}`,
    maxRounds,
    agentGraph: { document: text.length > longestGraph ? null : text },
    // A strict descriptor would reject the roles that it does not list.
    ...(JSON.stringify(roles).length > longestRoles ? { roles: {}, strict: false } : { roles }),
  };
}

/** Returns the graph in a descriptor; null if the graph is too long for the descriptor; undefined for other bundles. */
export function graphIn(descriptor: object): GraphDocument | null | undefined {
  const mark = "agentGraph" in descriptor ? descriptor.agentGraph : undefined;
  if (typeof mark !== "object" || mark === null || !("document" in mark)) return undefined;
  return typeof mark.document === "string" ? (JSON.parse(mark.document) as GraphDocument) : null;
}
