import type { DocumentEditing, DrawnEdge, DrawnNode } from "./editing.ts";
import { isSame } from "./parts.ts";

/** The difference of a node or a line. */
export type Mark = "added" | "removed" | "changed";

/** The differences between two versions: for each version, marks by node id and line id. */
export type Comparison = {
  before: { nodes: ReadonlyMap<string, Mark>; edges: ReadonlyMap<string, Mark> };
  after: { nodes: ReadonlyMap<string, Mark>; edges: ReadonlyMap<string, Mark> };
};

type Compared = Pick<DocumentEditing, "read" | "form">;

/** Compares two versions by the content of their nodes, ignoring positions. */
export function compare(kind: Compared, before: unknown, after: unknown): Comparison {
  const [old, now] = [kind.read(before), kind.read(after)];
  const oldNodes = new Map(old.nodes.map((node) => [node.id, node]));
  const nowNodes = new Map(now.nodes.map((node) => [node.id, node]));
  const isChanged = (node: DrawnNode): boolean => {
    const other = nowNodes.get(node.id);
    return (
      other !== undefined && !isSame(contentOf(kind, before, node), contentOf(kind, after, other))
    );
  };
  const changed = new Set(old.nodes.filter(isChanged).map(({ id }) => id));
  const nodeMarks = (
    nodes: readonly DrawnNode[],
    others: ReadonlyMap<string, unknown>,
    mark: Mark,
  ) =>
    new Map(
      nodes.flatMap(({ id }): [string, Mark][] => {
        if (!others.has(id)) return [[id, mark]];
        return changed.has(id) ? [[id, "changed"]] : [];
      }),
    );
  const edgeMarks = (edges: readonly DrawnEdge[], others: readonly DrawnEdge[], mark: Mark) => {
    const known = new Set(others.map(lineOf));
    return new Map(
      edges.flatMap((edge): [string, Mark][] => (known.has(lineOf(edge)) ? [] : [[edge.id, mark]])),
    );
  };
  return {
    before: {
      nodes: nodeMarks(old.nodes, nowNodes, "removed"),
      edges: edgeMarks(old.edges, now.edges, "removed"),
    },
    after: {
      nodes: nodeMarks(now.nodes, oldNodes, "added"),
      edges: edgeMarks(now.edges, old.edges, "added"),
    },
  };
}

const contentOf = (
  kind: Compared,
  document: unknown,
  { id, type, title, lines, parent }: DrawnNode,
) => [type, title, lines, parent, kind.form(document, id)?.value ?? null];

const lineOf = ({ source, sourcePort, target, targetPort, look }: DrawnEdge): string =>
  JSON.stringify([source, sourcePort, target, targetPort, look]);
