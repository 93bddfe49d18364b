import { expect } from "bun:test";
import type { GraphDocument } from "../../src/entry/index.ts";
import { answerTo } from "./graphs.ts";

/*
 * A direct, slow model of graph execution that shares no code with the interpreter. It reads the steps of a thread and
 * checks that each step is allowed: its node was started, and its inputs and output are as expected.
 */

type Node = GraphDocument["nodes"][number];
type Committed = { role: string; content: string; meta: Record<string, unknown> };
type Review = { decision: string; note: string };
/** An output that has been sent to a node. */
type Token = {
  to: string;
  from: string;
  run: number;
  handle: string | null;
  text: string | null;
  reviews: Review[];
  at: number;
  isLate: boolean;
};
type Running = { id: string; run: number; tokens: Token[] };

export class Oracle {
  readonly #nodes: Map<string, Node>;
  readonly #edges: { source: string; target: string; handle: string | null }[];
  readonly #start: string;
  readonly #prompt: string;
  readonly #runs = new Map<string, number>();
  tokens: Token[] = [];
  running: Running[] = [];
  waiting: Running[] = [];
  /** Whether the first of `waiting` is the open question. */
  isPaused = false;
  readonly #loops = new Map<string, Set<string>>();
  /** Whether a node started only because all other nodes waited for each other. */
  wasBroken = false;
  #clock = 0;

  constructor({ connections, nodes }: GraphDocument, prompt: string) {
    this.#nodes = new Map(nodes.map((node) => [node.id, node]));
    this.#edges = connections
      .filter(({ source, target }) => this.#nodes.has(source) && this.#nodes.has(target))
      .map(({ source, sourceHandle, target }) => ({
        source,
        target,
        handle: sourceHandle ?? null,
      }));
    this.#start = nodes.find(({ type }) => type === "start")?.id ?? "";
    this.#prompt = prompt;
    this.#loopsAmong([...this.#nodes.keys()], [this.#start]);
    this.#begin(this.#start, []);
  }

  get isDone(): boolean {
    return this.tokens.length + this.running.length + this.waiting.length === 0;
  }

  /** Reads the next step. */
  read(step: Committed): void {
    if (step.role === "__wait__") return this.#readWait(step);
    if (step.role === "__input__") return this.#readAnswer(step);
    const run = this.running.find((one) => one.id === step.role && one.run === step.meta.run);
    expect({ step: `${step.role} ${String(step.meta.run)}`, isRunning: run !== undefined }).toEqual(
      {
        step: `${step.role} ${String(step.meta.run)}`,
        isRunning: true,
      },
    );
    if (!run) return;
    const expected = this.#outcomeOf(run);
    expect({ id: run.id, output: step.meta.output, handle: step.meta.handle ?? null }).toEqual({
      id: run.id,
      output: expected.output,
      handle: expected.handle,
    });
    expect(step.content).toBe(expected.output ?? "");
    expect(step.meta.arrivals).toEqual(
      run.tokens.map(({ from, handle, run: number }) => ({ from, handle, run: number })),
    );
    this.running = this.running.filter((one) => one !== run);
    const isAgent = this.#nodes.get(run.id)?.type === "agent";
    const reviews = isAgent ? [] : reviewsOf(run);
    this.#send(run, expected.handle, expected.output, reviews);
    this.#settle();
  }

  #readWait({ meta }: Committed): void {
    const [first] = this.waiting;
    expect({ paused: this.isPaused, running: this.running.length, id: first?.id }).toEqual({
      paused: true,
      running: 0,
      id: String(meta.nodeId),
    });
    if (first) expect(meta.input).toBe(this.#inputOf(first));
  }

  #readAnswer({ meta }: Committed): void {
    const [first, ...others] = this.waiting;
    if (!first) throw new Error("an answer to no question");
    this.waiting = others;
    this.isPaused = false;
    const { decision, note = "" } = meta.value as { decision: string; note?: string };
    const reviews = [...reviewsOf(first), { decision, note }];
    this.#send(first, decision, this.#inputOf(first), reviews);
    this.#settle();
  }

  #begin(id: string, tokens: Token[]): void {
    const run = (this.#runs.get(id) ?? 0) + 1;
    this.#runs.set(id, run);
    this.tokens = this.tokens.filter((token) => !tokens.includes(token));
    const order = ({ from, handle, to }: Token) =>
      this.#edges.findIndex(
        (edge) =>
          edge.source === from && edge.target === to && (handle === null || edge.handle === handle),
      );
    const sorted = tokens.toSorted((a, b) => order(a) - order(b) || a.run - b.run);
    const one = { id, run, tokens: sorted };
    if (this.#nodes.get(id)?.type === "approval") this.waiting.push(one);
    else this.running.push(one);
  }

  #send({ id, run }: Running, handle: string | null, text: string | null, reviews: Review[]): void {
    const reached = new Set<string>();
    for (const edge of this.#edges) {
      if (edge.source !== id || reached.has(edge.target)) continue;
      if (handle !== null && edge.handle !== handle) continue;
      reached.add(edge.target);
      this.#clock += 1;
      const { handle: by, target: to } = edge;
      const at = this.#clock;
      this.tokens.push({ to, from: id, run, handle: by, text, reviews, at, isLate: this.isPaused });
    }
  }

  /** Starts the nodes that may start now. */
  #settle(): void {
    const ready = (isWanted: (token: Token) => boolean) => {
      const ids = new Set(this.tokens.filter(isWanted).map(({ to }) => to));
      return [...ids]
        .toSorted((one, other) => this.#since(one) - this.#since(other))
        .filter((id) => this.#startsEach(id) || this.#isFree(id));
    };
    const startAll = (ids: string[], isWanted: (token: Token) => boolean): void => {
      const batches = ids.flatMap((id) => {
        const own = this.tokens.filter(({ to }) => to === id);
        const batch = this.#startsEach(id) ? own.filter(isWanted).map((token) => [token]) : [own];
        return batch.map((tokens) => ({ id, tokens }));
      });
      for (const { id, tokens } of batches) this.#begin(id, tokens);
    };
    const isPrompt = ({ isLate }: Token): boolean => !isLate;
    const isApproval = (id: string) => this.#nodes.get(id)?.type === "approval";
    if (this.isPaused) return startAll(ready(isPrompt).filter(isApproval), isPrompt);
    const before = this.waiting.length;
    startAll(ready(isPrompt), isPrompt);
    if (this.waiting.length > before) this.#ask(before);
    if (this.running.length > 0 || this.isPaused) return;
    const [late] = ready(() => true);
    if (late !== undefined) {
      const own = this.tokens.filter(({ to }) => to === late).toSorted((a, b) => a.at - b.at);
      const count = this.waiting.length;
      this.#begin(late, this.#startsEach(late) ? own.slice(0, 1) : own);
      if (this.waiting.length > count) this.#ask(count);
      return;
    }
    if (this.waiting.length > 0) return this.#ask(0);
    const [stuck] = this.tokens.toSorted((a, b) => a.at - b.at);
    if (!stuck) return;
    this.wasBroken = true;
    const all = this.tokens.filter(({ to }) => to === stuck.to);
    this.#begin(stuck.to, all);
    if (this.waiting.length > 0) this.#ask(this.waiting.length - 1);
  }

  /** Asks the approval at this position and moves it to the front of the queue. */
  #ask(index: number): void {
    const [one] = this.waiting.splice(index, 1);
    if (one) this.waiting.unshift(one);
    this.isPaused = true;
  }

  #startsEach(id: string): boolean {
    return this.#nodes.get(id)?.data?.join === "each";
  }

  /** Returns the time when the first output reached a node. */
  #since(id: string): number {
    return Math.min(...this.tokens.filter(({ to }) => to === id).map(({ at }) => at));
  }

  #isFree(id: string): boolean {
    const own = this.tokens.filter(({ to }) => to === id);
    const isAgain = own.some(({ from }) => this.#loops.get(id)?.has(from));
    const places = new Set([...this.running, ...this.waiting].map((one) => one.id));
    for (const { to } of this.tokens) places.add(to);
    places.delete(id);
    return ![...places].some((place) => this.#reaches(place, id, isAgain));
  }

  /** Tells whether a path leads from one node to a target without going around a loop that contains the target. */
  #reaches(from: string, to: string, isAgain: boolean): boolean {
    const seen = new Set<string>();
    const visit = (id: string): boolean => {
      if (seen.has(id)) return false;
      seen.add(id);
      return this.#edges
        .filter(({ source }) => source === id)
        .some(({ target }) => {
          const loop = this.#loops.get(target);
          const isBack = loop?.has(id) === true;
          if (target === to) return isAgain || !isBack;
          return !(isBack && loop?.has(to)) && visit(target);
        });
    };
    return visit(from);
  }

  /** Returns the loops by their heads: first of the strongly connected nodes, then of the rest without the heads. */
  #loopsAmong(nodes: readonly string[], reached: readonly string[]): void {
    const leads = (from: string, to: string): boolean => {
      const seen = new Set<string>();
      const visit = (id: string): boolean =>
        this.#edges.some(({ source, target }) => {
          if (source !== id || !nodes.includes(target)) return false;
          if (target === to) return true;
          return !seen.has(target) && seen.add(target) && visit(target);
        });
      return visit(from);
    };
    const there = nodes.filter(
      (id) => reached.includes(id) || reached.some((one) => leads(one, id)),
    );
    const done = new Set<string>();
    for (const id of there) {
      if (done.has(id) || !leads(id, id)) continue;
      const circle = there.filter((one) => one === id || (leads(id, one) && leads(one, id)));
      for (const one of circle) done.add(one);
      const into = (one: string, isInside: boolean) =>
        this.#edges.filter(
          ({ source, target }) =>
            target === one && nodes.includes(source) && circle.includes(source) === isInside,
        );
      const entries = circle.filter((one) => reached.includes(one) || into(one, false).length > 0);
      const isDecided = (one: string) =>
        into(one, true).every(({ source }) =>
          /if|approval/.test(this.#nodes.get(source)?.type ?? ""),
        );
      const first = entries.find(isDecided) ?? entries[0] ?? id;
      this.#loops.set(first, new Set(circle));
      const rest = circle.filter((one) => one !== first);
      const following = this.#edges
        .filter(({ source }) => source === first)
        .map(({ target }) => target);
      this.#loopsAmong(
        rest,
        rest.filter((one) => following.includes(one) || entries.includes(one)),
      );
    }
  }

  #inputOf({ tokens }: Running): string | null {
    const [only] = tokens;
    return tokens.length === 1
      ? (only?.text ?? null)
      : tokens.map(({ text }) => text ?? "").join("\n\n");
  }

  #outcomeOf(run: Running): { output: string | null; handle: string | null } {
    const { data, type } = this.#nodes.get(run.id) as Node;
    const input = run.tokens.length === 0 ? null : this.#inputOf(run);
    if (type === "start") return { output: this.#prompt, handle: null };
    if (type === "if") return { output: input, handle: handleFor(data ?? {}, input ?? "") };
    if (type !== "agent") return { output: null, handle: null };
    const reviews = reviewsOf(run);
    const prompt = promptFor(String(data?.userPrompt), input ?? "", reviews);
    return { output: answerTo(run.id, prompt), handle: null };
  }
}

/** Returns the answers without duplicates: an answer may arrive by several paths. */
function reviewsOf({ tokens }: Running): Review[] {
  return tokens.flatMap((token) => token.reviews).filter((one, at, all) => all.indexOf(one) === at);
}

function handleFor(data: Record<string, unknown>, input: string): string {
  const conditions = data.conditions as { operator: string; value: string }[];
  const index = conditions.findIndex(({ operator, value }) => {
    const [text, wanted] = [input.toLowerCase(), value.trim().toLowerCase()];
    return operator === "contains" ? text.includes(wanted) : text === wanted;
  });
  return index < 0 ? "false" : `condition-${index}`;
}

function promptFor(template: string, input: string, reviews: Review[]): string {
  const last = reviews.at(-1);
  const parts = [
    template === ""
      ? input
      : template
          .split(/(\{\{[A-Z_]+\}\})/)
          .map((part) => {
            if (part === "{{PREVIOUS_OUTPUT}}") return input;
            if (part === "{{APPROVAL_DECISION}}") return last?.decision ?? "";
            return part === "{{APPROVAL_NOTE}}" ? (last?.note ?? "") : part;
          })
          .join(""),
  ];
  for (const review of reviews) {
    const isPlaced = review === last && template.includes("{{APPROVAL_NOTE}}");
    const word = review.decision === "reject" ? "rejected" : "approved";
    if (review.note !== "" && !isPlaced) parts.push(`Reviewer feedback (${word}): ${review.note}`);
  }
  return parts.filter((part) => part !== "").join("\n\n");
}
