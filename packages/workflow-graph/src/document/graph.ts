import type { Condition, GraphDocument } from "./schema.ts";
import { longId, missingId, repeatedId, reservedId } from "./errors.ts";

/** A check of an agent's answer, with all defaults filled in. */
export type Guardrail = {
  schema: object | null;
  matches: readonly string[];
  rejects: readonly string[];
  retries: number;
};

/** The work of a node, with all defaults filled in. */
type NodeWork =
  | { kind: "start"; initialInput: string }
  | {
      kind: "agent";
      systemPrompt: string;
      userPrompt: string;
      model: string;
      reasoningEffort: string;
      tools: readonly string[];
      /** Whether the agent may call the agents at the end of its `subagent` connections. */
      callsSubagents: boolean;
      guardrail: Guardrail | null;
    }
  | { kind: "if"; conditions: readonly Condition[] }
  | { kind: "approval"; prompt: string }
  | { kind: "unknown" };

export type GraphNode = {
  id: string;
  /** The type in the document, except for `input`, which becomes `approval`. */
  type: string;
  name: string;
  join: "all" | "each";
} & NodeWork;

export type AgentNode = Extract<GraphNode, { kind: "agent" }>;

export type Edge = {
  source: string;
  target: string;
  handle: string | null;
  targetHandle: string | null;
  index: number;
};

/** A graph as the interpreter reads it. */
export type Graph = { nodes: readonly GraphNode[]; edges: readonly Edge[] };

/** Data of a new node. For an agent, these are also the defaults of missing fields. */
export const nodeDefaults = {
  start: { initialInput: "" },
  agent: {
    agentName: "Agent",
    systemPrompt: "You are a helpful assistant.",
    userPrompt: "{{PREVIOUS_OUTPUT}}",
    model: "gpt-5",
    reasoningEffort: "low",
    tools: {},
  },
  if: { conditions: [{ operator: "equal", value: "" }] },
  approval: { prompt: "" },
} as const;

/** The tools that nodes may enable in a graph from a file. */
export const builtInTools: readonly string[] = [
  ...["readFile", "writeFile", "editFile", "listFiles", "search", "runCommand"],
];

/** Handle of an agent's connections to its subagents. */
export const SUBAGENT = "subagent";

/** Handle of the connections that are followed when an agent's answer fails its guardrail. */
export const REJECTED = "rejected";

/**
 * Reads a graph and migrates older documents: `input` becomes `approval`, a text condition becomes one `contains`
 * condition, and the handle `true` becomes `condition-0`. Any value that is not a list counts as an empty list.
 *
 * @throws WorkflowError `GRAPH_INVALID` for a node id that is not a valid step name.
 */
export function readGraph({ nodes, connections }: Partial<GraphDocument>): Graph {
  const read = listOf(nodes).map(readNode);
  const ids = new Set<string>();
  for (const { id } of read) {
    if (ids.has(id)) throw repeatedId(id);
    ids.add(id);
  }
  return { nodes: read, edges: listOf(connections).flatMap(readEdge) };
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

const textOf = (value: unknown, otherwise = ""): string =>
  typeof value === "string" ? value : otherwise;

type Data = Readonly<Record<string, unknown>>;

const recordOf = (value: unknown): Data =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Data) : {};

// In characters. A node's id is the name of a role.
const longestId = 200;

function readNode(given: unknown, index: number): GraphNode {
  const { id, type: named, data: rest } = recordOf(given);
  if (typeof id !== "string" || id === "") throw missingId(index);
  if (id.startsWith("__")) throw reservedId(index, id);
  if (id.length > longestId) throw longId(index, longestId);
  const type = named === "input" ? "approval" : textOf(named);
  const data = recordOf(rest);
  const join = data.join === "each" ? "each" : "all";
  const work = workOf(type, data);
  return { id, type, name: nameOf(work, type, data), join, ...work };
}

function nameOf({ kind }: NodeWork, type: string, data: Data): string {
  if (kind === "agent") return textOf(data.agentName).trim() || nodeDefaults.agent.agentName;
  return { start: "Start", if: "Condition", approval: "Approval", unknown: type }[kind];
}

function workOf(type: string, data: Data): NodeWork {
  switch (type) {
    case "start":
      return { kind: type, initialInput: textOf(data.initialInput) };
    case "agent": {
      const tools = Object.entries(recordOf(data.tools)).filter(([, isOn]) => isOn === true);
      const names = tools.map(([name]) => name);
      const { model, reasoningEffort, systemPrompt, userPrompt } = nodeDefaults.agent;
      return {
        kind: type,
        systemPrompt: textOf(data.systemPrompt, systemPrompt),
        userPrompt: textOf(data.userPrompt, userPrompt),
        model: textOf(data.model).trim() || model,
        reasoningEffort: textOf(data.reasoningEffort).trim() || reasoningEffort,
        tools: names.filter((name) => name !== "subagents"),
        callsSubagents: names.includes("subagents"),
        guardrail: guardrailOf(data.guardrail),
      };
    }
    case "if":
      return { kind: type, conditions: conditionsOf(data) };
    case "approval":
      return { kind: type, prompt: textOf(data.prompt) };
    default:
      return { kind: "unknown" };
  }
}

const usualRetries = 2;

function guardrailOf(given: unknown): Guardrail | null {
  const { matches, rejects, retries, schema } = recordOf(given);
  const textsOf = (value: unknown) => listOf(value).filter((one) => typeof one === "string");
  const guardrail = {
    schema: schema === undefined || schema === null ? null : recordOf(schema),
    matches: textsOf(matches),
    rejects: textsOf(rejects),
    retries: Number.isSafeInteger(retries) ? Number(retries) : usualRetries,
  };
  const isEmpty = [guardrail.matches, guardrail.rejects].every((list) => list.length === 0);
  return isEmpty && guardrail.schema === null ? null : guardrail;
}

function conditionsOf({ conditions, condition }: Data): Condition[] {
  if (conditions === undefined && typeof condition === "string") {
    return [{ operator: "contains", value: condition }];
  }
  return listOf(conditions).map((one) => {
    const { operator, value } = recordOf(one);
    return {
      operator: textOf(operator, "equal"),
      value: typeof value === "number" ? String(value) : textOf(value),
    };
  });
}

function readEdge(given: unknown, index: number): Edge[] {
  const { source, target, sourceHandle, targetHandle } = recordOf(given);
  if (typeof source !== "string" || typeof target !== "string") return [];
  const handle = textOf(sourceHandle) || null;
  return [
    {
      source,
      target,
      handle: handle === "true" ? "condition-0" : handle,
      targetHandle: textOf(targetHandle) || null,
      index,
    },
  ];
}
