import type { Review } from "./review.ts";

/** An output of another node that reached a node, with its handle. */
export type Arrival = {
  from: string;
  handle: string | null;
  /** The number of the run of `from` that sent the output. */
  run: number;
  value: unknown;
  /** The answers to the approvals between the last agent and this node. */
  reviews: readonly Review[];
  /** Number of this arrival among all arrivals of the run. */
  seq: number;
  /**
   * Whether the output arrived while an approval waited. After the answer, such arrivals start their nodes one by one.
   */
  isDeferred: boolean;
};

/** Arrivals in order, by their node, at nodes that have not started. */
export class Arrivals {
  readonly #byNode = new Map<string, Arrival[]>();
  #seq = 0;

  /** Number of nodes with an arrival. */
  get size(): number {
    return this.#byNode.size;
  }

  /** Ids of the nodes with an arrival. */
  ids(): IterableIterator<string> {
    return this.#byNode.keys();
  }

  has(id: string): boolean {
    return this.#byNode.has(id);
  }

  at(id: string): readonly Arrival[] {
    return this.#byNode.get(id) ?? [];
  }

  /** Adds an arrival, unless the same run already reached the node through another connection. */
  add(id: string, given: Omit<Arrival, "seq">): void {
    const known = this.#byNode.get(id);
    // A run follows all its connections at once, so its earlier arrival is the last arrival here.
    const last = known?.at(-1);
    if (last?.from === given.from && last.run === given.run) return;
    this.#seq += 1;
    const arrival = { ...given, seq: this.#seq };
    if (known) known.push(arrival);
    else this.#byNode.set(id, [arrival]);
  }

  remove(id: string, arrivals: readonly Arrival[]): void {
    const all = this.at(id);
    const left = arrivals.length === all.length ? [] : all.filter((one) => !arrivals.includes(one));
    if (left.length > 0) this.#byNode.set(id, left);
    else this.#byNode.delete(id);
  }

  /** Returns the nodes with their arrivals, in the order of the first arrival. */
  inOrder(isWanted: (arrivals: readonly Arrival[]) => boolean): [string, readonly Arrival[]][] {
    const firstOf = ([, [first]]: [string, readonly Arrival[]]): number => first?.seq ?? 0;
    return [...this.#byNode]
      .filter(([, arrivals]) => isWanted(arrivals))
      .toSorted((one, other) => firstOf(one) - firstOf(other));
  }

  /** Nodes with deferred arrivals, in the order of their turn. */
  get deferred(): string[] {
    const all = [...this.#byNode].flatMap(([id, arrivals]) =>
      arrivals.filter(({ isDeferred }) => isDeferred).map(({ seq }) => ({ id, seq })),
    );
    return [...new Set(all.toSorted((one, other) => one.seq - other.seq).map(({ id }) => id))];
  }
}

/** Returns a value as text: a text unchanged, null and undefined as "", any other value as JSON. */
export const textOf = (value: unknown): string =>
  typeof value === "string"
    ? value
    : value === null || value === undefined
      ? ""
      : JSON.stringify(value);

/** Returns the reviews of all arrivals, without duplicates. */
export const reviewsOf = (arrivals: readonly Arrival[]): Review[] => [
  ...new Set(arrivals.flatMap(({ reviews }) => reviews)),
];

/** Returns a single arrival's output unchanged; several outputs as texts separated by empty lines. */
export function inputOf(arrivals: readonly Arrival[]): unknown {
  const [first, ...others] = arrivals;
  if (others.length === 0) return first?.value ?? null;
  return arrivals.map(({ value }) => textOf(value)).join("\n\n");
}
