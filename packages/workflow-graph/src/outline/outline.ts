import { type Edge, type Graph, type GraphNode, REJECTED, SUBAGENT } from "../document/graph.ts";
import { loopsOf } from "./loops.ts";

/** Index of a graph for a run. */
export class Outline {
  readonly nodes: ReadonlyMap<string, GraphNode>;
  /** The node where a run begins: the first start node. */
  readonly start: GraphNode | null;
  /** Connections from agents to their subagents. */
  readonly subagentEdges: readonly Edge[];
  readonly #edges = new Map<string, Edge[]>();
  /** The first connection that leads to each node. */
  readonly #entries = new Map<string, Edge>();
  readonly #numbers: ReadonlyMap<string, number>;
  readonly #ids: readonly string[];
  readonly #next: number[][] = [];
  readonly #previous: number[][] = [];
  readonly #loops: ReadonlyMap<number, ReadonlySet<number>>;
  readonly #origins = new Map<string, Origins>();

  constructor({ nodes, edges }: Graph) {
    this.nodes = new Map(nodes.map((node) => [node.id, node]));
    this.start = nodes.find(({ kind }) => kind === "start") ?? null;
    this.#ids = nodes.map(({ id }) => id);
    this.#numbers = new Map(this.#ids.map((id, number) => [id, number]));
    this.subagentEdges = edges.filter(({ handle }) => handle === SUBAGENT);
    for (const _ of nodes) {
      this.#next.push([]);
      this.#previous.push([]);
    }
    for (const edge of edges) this.#add(edge);
    const start = this.#numbers.get(this.start?.id ?? "");
    const isDecision = (node: number) =>
      /^(if|approval)$/.test(nodes[node]?.kind ?? "") || isGuarded(nodes[node]);
    this.#loops = start === undefined ? new Map() : loopsOf(start, this.#next, isDecision);
  }

  #add(edge: Edge): void {
    const { source, target } = edge;
    const from = this.#numbers.get(source);
    const node = this.nodes.get(source);
    if (from === undefined || !node || !canFollow(node, edge)) return;
    const known = this.#edges.get(source);
    if (known) known.push(edge);
    else this.#edges.set(source, [edge]);
    if (!this.#entries.has(target)) this.#entries.set(target, edge);
    const to = this.#numbers.get(target);
    if (to === undefined) return;
    this.#next[from]?.push(to);
    this.#previous[to]?.push(from);
  }

  /** Returns the connections to follow from a node that ended with a handle; all connections for null. */
  edgesFrom(id: string, handle: string | null): readonly Edge[] {
    const edges = this.#edges.get(id) ?? [];
    return handle === null ? edges : edges.filter((edge) => edge.handle === handle);
  }

  /** Returns the connections that a run follows from a node; a null handle is the usual end of the node. */
  following(id: string, handle: string | null): readonly Edge[] {
    const edges = this.edgesFrom(id, handle);
    const isUsual = handle === null && isGuarded(this.nodes.get(id));
    return isUsual ? edges.filter((edge) => edge.handle !== REJECTED) : edges;
  }

  /** Returns a connection that makes a node part of the execution: from the node, or to it. */
  executionEdgeOf(id: string): Edge | null {
    return this.#edges.get(id)?.[0] ?? this.#entries.get(id) ?? null;
  }

  /** Tells whether no node can follow this node. */
  isLast(id: string): boolean {
    return (this.#edges.get(id) ?? []).every(({ target }) => !this.nodes.has(target));
  }

  /** Returns the document position of the connection that an arrival used; -1 if it no longer exists. */
  indexOf(source: string, target: string, handle: string | null): number {
    const edges = this.#edges.get(source) ?? [];
    return (
      edges.find((edge) => edge.target === target && (handle === null || edge.handle === handle))
        ?.index ?? -1
    );
  }

  /** Tells whether a connection leads back to the head of a loop and so starts another round. */
  isLoopEdge(source: string, target: string): boolean {
    const [from, to] = [this.#numbers.get(source), this.#numbers.get(target)];
    return from !== undefined && to !== undefined && this.#loops.get(to)?.has(from) === true;
  }

  /**
   * Returns the nodes from which an arrival can still reach a node in its round: along connections, but not around a
   * loop that contains the node. `isAgain` means that a loop returned to the node: then the node's own loop connections
   * count too.
   */
  originsOf(id: string, isAgain: boolean): Origins {
    const known = this.#origins.get(`${isAgain} ${id}`);
    if (known) return known;
    const target = this.#numbers.get(id) ?? -1;
    // Use one bit per node, because a graph with 10,000 joins has 10,000 of these sets.
    const flags = new Uint32Array((this.#next.length >> 5) + 1);
    const isFlagged = (node: number): boolean =>
      (((flags[node >> 5] ?? 0) >>> (node & 31)) & 1) === 1;
    const list: number[] = [];
    const own = isAgain ? undefined : this.#loops.get(target);
    const waiting = (this.#previous[target] ?? []).filter((from) => !own?.has(from));
    for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
      if (node === target || isFlagged(node)) continue;
      flags[node >> 5] = (flags[node >> 5] ?? 0) | (1 << (node & 31));
      list.push(node);
      const loop = this.#loops.get(node);
      const isAround = loop?.has(target) === true;
      for (const from of this.#previous[node] ?? []) {
        if (!isAround || !loop?.has(from)) waiting.push(from);
      }
    }
    const found: Origins =
      list.length > mostFew
        ? { few: null, has: (source) => isFlagged(this.#numbers.get(source) ?? -1) }
        : { few: list.map((node) => this.#ids[node] ?? "") };
    this.#origins.set(`${isAgain} ${id}`, found);
    return found;
  }
}

const isGuarded = (node: GraphNode | undefined): boolean =>
  node?.kind === "agent" && node.guardrail !== null;

// Maximum size of a set that is stored as a list.
const mostFew = 32;

/** A set of nodes, stored as a list if it is small. */
export type Origins = { few: readonly string[] } | { few: null; has: (id: string) => boolean };

/** Tells whether a run can ever follow a connection: the connection's handle must exist on its node. */
function canFollow(node: GraphNode, { handle }: Edge): boolean {
  if (handle === SUBAGENT) return false;
  switch (node.kind) {
    case "if":
      return (
        handle === "false" || node.conditions.some((_, index) => handle === `condition-${index}`)
      );
    case "approval":
      return handle === "approve" || handle === "reject";
    default:
      return true;
  }
}
