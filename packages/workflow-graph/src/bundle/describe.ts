import type { Descriptor } from "@uncaged/workflow";
import type { Graph } from "../document/graph.ts";
import type { GraphDocument } from "../document/schema.ts";

const maxRounds = 1000;

// In characters of JSON. A descriptor may have 1 Mi in all.
const longestGraph = 512 * 1024;
const longestRoles = 384 * 1024;
const longestText = 2000;

/** What marks the descriptor of an agent graph: the document as JSON, unless it is too long for a descriptor. */
export type GraphDescriptor = Descriptor & { agentGraph: { document: string | null } };

/** The descriptor of a graph's bundle: a role for each node, and the graph itself, so that it can be drawn. */
export function describeGraph(document: Partial<GraphDocument>, { nodes }: Graph): GraphDescriptor {
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
    // Roles that are not named are not known.
    ...(JSON.stringify(roles).length > longestRoles ? { roles: {}, strict: false } : { roles }),
  };
}

/** The graph in a descriptor, null when it was too long for one; undefined for the bundle of something else. */
export function graphIn(descriptor: object): GraphDocument | null | undefined {
  const mark = "agentGraph" in descriptor ? descriptor.agentGraph : undefined;
  if (typeof mark !== "object" || mark === null || !("document" in mark)) return undefined;
  return typeof mark.document === "string" ? (JSON.parse(mark.document) as GraphDocument) : null;
}
