import type { AgentTree } from "../agent/agent.ts";
import { type AgentNode, type Edge, readGraph } from "../document/graph.ts";
import type { GraphDocument } from "../document/schema.ts";
import type { Guardrails } from "../guardrail/guardrail.ts";
import { Outline } from "./outline.ts";

/** A connection that violates a rule of subagents, by its position in the document. */
export type SubagentViolation = { index: number; message: string };

/** Returns all violations in a graph's subagent connections, in the order of the document. */
export function subagentViolations(outline: Outline): SubagentViolation[] {
  const parents = new Map<string, string>();
  const found = outline.subagentEdges.flatMap((edge): SubagentViolation[] => {
    const message = violationOf(outline, edge, parents.get(edge.target));
    parents.set(edge.target, parents.get(edge.target) ?? edge.source);
    return message === null ? [] : [{ index: edge.index, message }];
  });
  const cycles = cyclesIn(outline).map(({ index, path }) => {
    const around = [...path, path[0]].join(" -> ");
    return { index, message: `Subagent cycle detected: ${around}` };
  });
  return [...found, ...cycles].toSorted((one, other) => one.index - other.index);
}

/**
 * Returns the first violation of the subagent rules that a new connection would add; null if it adds none. Any kind of
 * connection can add a violation, because a subagent must not be part of the execution.
 */
export function newViolation(
  document: Partial<GraphDocument>,
  connection: GraphDocument["connections"][number],
): string | null {
  const violationsWith = (connections: readonly unknown[]): string[] => {
    const graph = readGraph({ ...document, connections: connections as never });
    return subagentViolations(new Outline(graph)).map(({ message }) => message);
  };
  const { connections = [] } = document;
  const known = new Set(violationsWith(connections));
  return violationsWith([...connections, connection]).find((one) => !known.has(one)) ?? null;
}

function violationOf(
  outline: Outline,
  { source, target, targetHandle }: Edge,
  parent: string | undefined,
): string | null {
  const [from, to] = [outline.nodes.get(source), outline.nodes.get(target)];
  const link = `Subagent connection ${source} -> ${target}`;
  if (from?.kind !== "agent") return `${link}: ${source} is not an agent`;
  if (to?.kind !== "agent") return `${link}: ${target} is not an agent`;
  if (source === target) return `${link}: an agent cannot be its own subagent`;
  if (!from.callsSubagents) return `${link}: subagents are not enabled on ${source}`;
  if (targetHandle !== null && targetHandle !== "input") {
    return `${link}: it must end on the handle input of ${target}, not on ${targetHandle}`;
  }
  if (parent !== undefined) return `${link}: ${target} already is a subagent of ${parent}`;
  const other = outline.executionEdgeOf(target);
  if (other === null) return null;
  return `${link}: ${target} is part of the execution connection ${other.source} -> ${other.target}`;
}

/** Returns each cycle of several agents once. Follows parents upwards. Only the last parent of a node counts. */
function cyclesIn({ subagentEdges }: Outline): { path: string[]; index: number }[] {
  const byTarget = new Map(subagentEdges.map((edge) => [edge.target, edge]));
  const seen = new Set<string>();
  return subagentEdges.flatMap(({ target }) => {
    const trail = new Set<string>();
    let at: string | undefined = target;
    while (at !== undefined && !seen.has(at)) {
      seen.add(at);
      trail.add(at);
      at = byTarget.get(at)?.source;
    }
    if (at === undefined || !trail.has(at)) return [];
    const upwards = [...trail].slice([...trail].indexOf(at));
    const [child = "", parent, ...others] = upwards;
    const edge = byTarget.get(child);
    if (parent === undefined || !edge) return [];
    return [{ path: [parent, child, ...others.toReversed()], index: edge.index }];
  });
}

/** Returns an agent with all its subagents, direct and indirect. The graph's connections must be valid. */
export function treeOf(outline: Outline, node: AgentNode, guardrails: Guardrails): AgentTree {
  const children = outline.subagentEdges
    .filter(({ source }) => source === node.id)
    .flatMap(({ target }) => {
      const child = outline.nodes.get(target);
      return child?.kind === "agent" ? [treeOf(outline, child, guardrails)] : [];
    });
  const { id, name, systemPrompt, model, reasoningEffort, tools } = node;
  const guardrail = guardrails.of(node);
  return {
    ...{ nodeId: id, agentName: name, systemPrompt, model, reasoningEffort, tools },
    ...(children.length > 0 && { subagents: children }),
    ...(guardrail && { guardrail }),
  };
}
