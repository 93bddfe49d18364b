import { INPUT, type JsonSchema, type RoleOutput, WAIT } from "@uncaged/workflow";
import { isStepQuestion } from "@uncaged/workflow/interpreter";
import type { GraphNode } from "../document/graph.ts";
import type { Origins, Outline } from "../outline/outline.ts";
import { type ApprovalInput, type Review, reviewOf } from "./review.ts";
import { type Arrival, Arrivals, inputOf, reviewsOf } from "./arrivals.ts";

/** One run of a node. */
export type NodeRun = {
  node: GraphNode;
  /** Number of the run among the node's runs, from 1. */
  run: number;
  arrivals: readonly Arrival[];
  input: unknown;
  reviews: readonly Review[];
};

export type NodeMeta = {
  nodeType: string;
  name: string;
  run: number;
  arrivals: { from: string; handle: string | null; run: number }[];
  output: unknown;
  handle?: string;
  follows: string[];
  durationMs: number;
  [spending: string]: unknown;
};

/** Meta of an approval's `__wait__` step. */
export type ApprovalMeta = {
  for: "approval";
  nodeId: string;
  run: number;
  /** Input of the approval, which it passes on. */
  input: unknown;
  schema?: JsonSchema & { required?: unknown };
  imported?: ImportedState;
  [more: string]: unknown;
};

/** State of an imported run besides the waiting approval. */
export type ImportedState = {
  outputs: Record<string, unknown>;
  previousOutput: unknown;
  answers: Record<string, ApprovalInput>;
  queued: { nodeId: string; input: unknown }[];
  deferred: { nodeId: string; from: string; input: unknown }[];
};

/** Effects of a step. */
export type Progress = {
  started: readonly NodeRun[];
  reached: readonly NodeRun[];
  current: NodeRun | null;
};

const keyOf = (id: string, run: number): string => `${run} ${id}`;

/**
 * State of a run: a fold of the thread's steps. The same function folds a log and applies a new step, so a resumed run
 * continues at the same state.
 *
 * - **G1** `running` has the node runs without a step. A resume starts them again.
 * - **G2** A node starts when no active node can still reach it in its round. It consumes all of its arrivals. When all
 * nodes wait for each other, the node that was reached first starts.
 * - **G3** No node starts while an approval waits. Nodes reached then are deferred.
 * - **G4** The order of the steps alone decides which nodes start, neither time nor the concurrency limit.
 */
export class GraphState {
  /** The active runs of nodes, by node and number. */
  readonly running = new Map<string, NodeRun>();
  /** The waiting approval, or the approval that will wait as soon as all running nodes have ended. */
  current: NodeRun | null = null;
  /** Approvals that wait for their turn. */
  queued: NodeRun[] = [];
  /** Stored outputs by node id, newest last. */
  readonly outputs = new Map<string, unknown>();
  readonly reviews = new Map<string, Review>();
  previousOutput: unknown;
  /** Whether the graph lacks an answered approval. */
  isLost = false;
  readonly #outline: Outline;
  readonly #arrivals = new Arrivals();
  readonly #runs = new Map<string, number>();
  /** Number of each node's runs that are running or wait for an answer. */
  readonly #busy = new Map<string, number>();
  #asked: ApprovalMeta | null = null;
  #isAskedByStep = false;

  constructor(outline: Outline) {
    this.#outline = outline;
    if (outline.start) this.#start(outline.start, []);
  }

  /** Whether the run is done: no node runs, waits or can start. */
  get isDone(): boolean {
    return this.running.size === 0 && this.current === null && this.#arrivals.size === 0;
  }

  /** Whether no node follows the running nodes. */
  get isEnding(): boolean {
    const runs = [...this.running.values(), ...this.approvals];
    return this.#arrivals.size === 0 && runs.every(({ node }) => this.#outline.isLast(node.id));
  }

  /** The last output that is a text. */
  get latestText(): string {
    const texts = [...this.outputs.values()].filter((output) => typeof output === "string");
    return texts.at(-1) ?? "";
  }

  /** Active approvals, the waiting approval first. */
  get approvals(): NodeRun[] {
    return this.current ? [this.current, ...this.queued] : this.queued;
  }

  /** Nodes with deferred arrivals, in the order of their turn. */
  get deferred(): string[] {
    return this.#arrivals.deferred;
  }

  /** Applies a committed step. A step of a node that is not in the graph changes nothing. */
  apply({ role, content, meta }: RoleOutput): Progress {
    const isAnswerToStep = this.#isAskedByStep && role === INPUT;
    this.#isAskedByStep = isStepQuestion({ role, content, meta });
    // A question of a running node does not change the state; the node's step follows later.
    if (isAnswerToStep || this.#isAskedByStep) {
      return { started: [], reached: [], current: this.current };
    }
    if (role === WAIT) {
      if (meta.for === "approval") this.#ask(meta as ApprovalMeta);
      return { started: [], reached: [], current: this.current };
    }
    if (role === INPUT) this.#answer(Object.hasOwn(meta, "value") ? meta.value : content);
    else this.#commit(role, meta as NodeMeta);
    return this.#advance();
  }

  #ask(asked: ApprovalMeta): void {
    this.#asked = asked;
    if (asked.imported) this.#import(asked, asked.imported);
  }

  /** Sets the state of an imported run, in which only approvals are active. */
  #import({ input, nodeId }: ApprovalMeta, imported: ImportedState): void {
    this.running.clear();
    this.#busy.clear();
    for (const [id, output] of Object.entries(imported.outputs)) {
      this.outputs.set(id, output);
      this.#runs.set(id, 1);
    }
    this.previousOutput = imported.previousOutput;
    for (const [id, answer] of Object.entries(imported.answers)) {
      this.reviews.set(id, { ...answer, nodeId: id });
    }
    const arrived = { handle: null, run: 1, reviews: [] };
    for (const one of [{ nodeId, input }, ...imported.queued]) {
      const node = this.#outline.nodes.get(one.nodeId);
      const arrival = { ...arrived, from: "", value: one.input, seq: 0, isDeferred: false };
      if (node) this.#start(node, [arrival]);
    }
    for (const { from, input: value, nodeId: id } of imported.deferred) {
      this.#arrivals.add(id, { ...arrived, from, value, isDeferred: true });
    }
  }

  #commit(id: string, { arrivals, handle, output, run, follows }: NodeMeta): void {
    const node = this.#outline.nodes.get(id);
    if (!node || !Array.isArray(arrivals) || !Array.isArray(follows)) return;
    const own = this.running.get(keyOf(id, run));
    const isOnly = this.#isAlone(id);
    if (this.running.delete(keyOf(id, run))) this.#count(id, -1);
    this.#runs.set(id, Math.max(run, this.#runs.get(id) ?? 0));
    const taken = own?.arrivals ?? this.#take(id, arrivals);
    if (node.kind !== "if") {
      this.outputs.delete(id);
      this.outputs.set(id, output);
      if (isOnly) this.previousOutput = output;
    }
    const reviews = node.kind === "agent" ? [] : reviewsOf(taken);
    this.#follow({ id, run, handle: handle ?? null, follows, value: output, reviews });
  }

  /** Removes arrivals by their origin, because the consuming run is unknown here. */
  #take(id: string, wanted: NodeMeta["arrivals"]): Arrival[] {
    const isWanted = (one: Arrival): boolean =>
      wanted.some(({ from, run }) => from === one.from && run === one.run);
    const taken = this.#arrivals.at(id).filter(isWanted);
    if (taken.length > 0) this.#arrivals.remove(id, taken);
    return taken;
  }

  #answer(given: unknown): void {
    const asked = this.#asked;
    this.#asked = null;
    // An answer without a question has no effect.
    if (asked === null) return;
    const id = asked.nodeId;
    if (!this.#outline.nodes.has(id)) {
      this.isLost = true;
      return;
    }
    const answer = reviewOf(asked, given);
    if (answer === null) return;
    const own = this.approvals.find(({ node }) => node.id === id);
    const review = { ...answer, nodeId: id };
    this.reviews.set(id, review);
    this.current = this.current === own ? null : this.current;
    this.queued = this.queued.filter((one) => one !== own);
    if (own) this.#count(id, -1);
    const handle = review.decision;
    this.#follow({
      id,
      run: own?.run ?? asked.run ?? 1,
      handle,
      follows: this.#outline.edgesFrom(id, handle).map(({ target }) => target),
      value: own ? own.input : asked.input,
      reviews: [...(own?.reviews ?? []), review],
    });
  }

  #follow(given: {
    id: string;
    run: number;
    handle: string | null;
    follows: readonly string[];
    value: unknown;
    reviews: readonly Review[];
  }): void {
    const { id, run, handle, follows, value, reviews } = given;
    const isDeferred = this.current !== null;
    const wanted = new Set(follows);
    for (const { handle: by, target } of this.#outline.following(id, handle)) {
      if (!wanted.has(target) || !this.#outline.nodes.has(target)) continue;
      this.#arrivals.add(target, { from: id, handle: by, run, value, reviews, isDeferred });
    }
  }

  #count(id: string, runs: 1 | -1): void {
    const count = (this.#busy.get(id) ?? 0) + runs;
    if (count > 0) this.#busy.set(id, count);
    else this.#busy.delete(id);
  }

  /** Tells whether only this node is active. */
  #isAlone(id: string): boolean {
    const own = Number(this.#busy.has(id)) + Number(this.#arrivals.has(id));
    return this.#busy.size + this.#arrivals.size === own;
  }

  #advance(): Progress {
    const before = this.current;
    const started: NodeRun[] = [];
    const reached: NodeRun[] = [];
    const begin = (runs: readonly NodeRun[]): void => {
      for (const one of runs) {
        if (one.node.kind === "approval") reached.push(one);
        else started.push(one);
      }
    };
    if (before !== null) {
      begin(this.#startFree((node) => node.kind === "approval"));
      return { started, reached, current: before };
    }
    begin(this.#startFree(() => true));
    const isIdle = () => this.running.size === 0 && this.current === null;
    if (isIdle()) begin(this.#startFirst((node) => this.#isFree(node)));
    if (isIdle()) this.current = this.queued.shift() ?? null;
    // All remaining nodes wait for each other.
    if (isIdle()) begin(this.#startFirst(() => true));
    return { started, reached, current: this.current };
  }

  /** Starts all nodes that no active node can reach. Decides for all nodes before it starts one. */
  #startFree(isAllowed: (node: GraphNode) => boolean): NodeRun[] {
    const isReady = (arrivals: readonly Arrival[]) => arrivals.some((one) => !one.isDeferred);
    const free = this.#waiting(isReady).filter(({ node }) => isAllowed(node) && this.#isFree(node));
    return free.flatMap(({ node, arrivals }) => {
      if (node.join === "all") return [this.#start(node, arrivals)];
      const ready = arrivals.filter(({ isDeferred }) => !isDeferred);
      return ready.map((arrival) => this.#start(node, [arrival]));
    });
  }

  /** Starts the node that was reached first. Deferred nodes start one by one. */
  #startFirst(isAllowed: (node: GraphNode) => boolean): NodeRun[] {
    const found = this.#waiting(() => true).find(({ node }) => isAllowed(node));
    if (!found) return [];
    const { node, arrivals } = found;
    return [this.#start(node, node.join === "each" ? arrivals.slice(0, 1) : arrivals)];
  }

  #waiting(
    isWanted: (arrivals: readonly Arrival[]) => boolean,
  ): { node: GraphNode; arrivals: readonly Arrival[] }[] {
    return this.#arrivals.inOrder(isWanted).flatMap(([id, arrivals]) => {
      const node = this.#outline.nodes.get(id);
      return node ? [{ node, arrivals }] : [];
    });
  }

  /** Tells whether no other active node can reach a node in this round (G2). */
  #isFree({ id, join }: GraphNode): boolean {
    if (join === "each" || this.#isAlone(id)) return true;
    if (this.#isReached(this.#outline.originsOf(id, false))) return false;
    const isAgain = this.#arrivals.at(id).some(({ from }) => this.#outline.isLoopEdge(from, id));
    return !isAgain || !this.#isReached(this.#outline.originsOf(id, true));
  }

  /** Tells whether one of the given nodes is active. */
  #isReached(origins: Origins): boolean {
    if (origins.few !== null) {
      return origins.few.some((one) => this.#busy.has(one) || this.#arrivals.has(one));
    }
    for (const one of this.#busy.keys()) if (origins.has(one)) return true;
    for (const one of this.#arrivals.ids()) if (origins.has(one)) return true;
    return false;
  }

  #start(node: GraphNode, arrivals: readonly Arrival[]): NodeRun {
    const run = (this.#runs.get(node.id) ?? 0) + 1;
    this.#runs.set(node.id, run);
    this.#arrivals.remove(node.id, arrivals);
    const ordered = arrivals.toSorted(
      (one, other) =>
        this.#indexOf(one, node.id) - this.#indexOf(other, node.id) || one.run - other.run,
    );
    const started: NodeRun = {
      node,
      run,
      arrivals: ordered,
      input: inputOf(ordered),
      reviews: reviewsOf(ordered),
    };
    this.#count(node.id, 1);
    if (node.kind !== "approval") this.running.set(keyOf(node.id, run), started);
    else if (this.current === null) this.current = started;
    else this.queued.push(started);
    return started;
  }

  #indexOf({ from, handle }: Arrival, target: string): number {
    return this.#outline.indexOf(from, target, handle);
  }
}
