import type { DocumentPath } from "@uncaged/workflow/document";
import { isWorkflowError } from "@uncaged/workflow";
import { type Graph, type GraphNode, readGraph } from "../document/graph.ts";
import type { GraphDocument } from "../document/schema.ts";
import { Outline } from "../outline/outline.ts";
import { subagentViolations } from "../outline/subagents.ts";

/** The reason why a graph can't run: a code, a message, and the path of the faulty part. */
export type RunBlocker = {
  reason:
    | "unreadable"
    | "no_start"
    | "several_starts"
    | "broken_connection"
    | "subagent_rule"
    | "start_not_connected"
    | "nothing_reachable"
    | "condition_without_branch"
    | "approval_without_branch";
  message: string;
  path: DocumentPath;
};

/**
 * Returns the first reason why an editor must not run a graph, in the order for display; null if the graph can run. The
 * API is more lenient: a run reports most of these problems in its log.
 */
export function runBlocker(document: Partial<GraphDocument>): RunBlocker | null {
  let graph: Graph;
  try {
    graph = readGraph(document);
  } catch (error) {
    if (!isWorkflowError(error)) throw error;
    return { reason: "unreadable", message: error.message, path: ["nodes"] };
  }
  return blockerOfStart(graph) ?? blockerOfConnections(document, graph);
}

function blockerOfStart({ nodes }: Graph): RunBlocker | null {
  const [start, second] = nodes.filter(({ kind }) => kind === "start");
  if (!start) {
    return { reason: "no_start", message: "Add a Start node.", path: ["nodes"] };
  }
  if (!second) return null;
  const message = `Remove all Start nodes but one: there are ${start.id} and ${second.id}.`;
  return { reason: "several_starts", message, path: ["nodes", nodes.indexOf(second)] };
}

function blockerOfConnections(
  { connections }: Partial<GraphDocument>,
  graph: Graph,
): RunBlocker | null {
  const outline = new Outline(graph);
  const broken = brokenConnection(connections, outline);
  if (broken) return broken;
  const [violation] = subagentViolations(outline);
  if (violation) {
    const { index, message } = violation;
    return { reason: "subagent_rule", message, path: ["connections", index] };
  }
  return blockerOfReach(graph, outline);
}

function brokenConnection(connections: unknown, { nodes }: Outline): RunBlocker | null {
  if (!Array.isArray(connections)) return null;
  for (const [index, given] of connections.entries()) {
    const { source, target } = (given ?? {}) as { source?: unknown; target?: unknown };
    const ends = [source, target];
    if (ends.every((id) => typeof id === "string" && nodes.has(id))) continue;
    const [from, to] = ends.map((id) => (typeof id === "string" && id !== "" ? id : "(nothing)"));
    const message = `Remove the broken connection ${from} -> ${to}: one of its nodes does not exist.`;
    return { reason: "broken_connection", message, path: ["connections", index] };
  }
  return null;
}

function blockerOfReach({ nodes }: Graph, outline: Outline): RunBlocker | null {
  const { start } = outline;
  if (!start) return null;
  const at = (node: GraphNode): DocumentPath => ["nodes", nodes.indexOf(node)];
  if (outline.edgesFrom(start.id, null).length === 0) {
    const message = `Connect ${start.id} to the first node of the run.`;
    return { reason: "start_not_connected", message, path: at(start) };
  }
  const reached = reachedFrom(start, outline);
  if (reached.size === 1) {
    const message = `Connect ${start.id} to another node: a connection to itself runs nothing.`;
    return { reason: "nothing_reachable", message, path: at(start) };
  }
  const isDeadEnd = (node: GraphNode): boolean =>
    reached.has(node.id) && outline.edgesFrom(node.id, null).length === 0;
  const condition = nodes.find((node) => node.kind === "if" && isDeadEnd(node));
  if (condition) {
    const message = `Connect a branch of the condition ${condition.id}.`;
    return { reason: "condition_without_branch", message, path: at(condition) };
  }
  const approval = nodes.find((node) => node.kind === "approval" && isDeadEnd(node));
  if (!approval) return null;
  const message = `Connect Approve or Reject of the approval ${approval.id}.`;
  return { reason: "approval_without_branch", message, path: at(approval) };
}

function reachedFrom(start: GraphNode, outline: Outline): Set<string> {
  const reached = new Set([start.id]);
  for (const id of reached) {
    for (const { target } of outline.edgesFrom(id, null)) reached.add(target);
  }
  return reached;
}
