import type { Journal, JournalEntry } from "@uncaged/workflow/interpreter";
import type { ThreadContext } from "@uncaged/workflow";
import { digest, type Spent, takeOver } from "../run/run.ts";
import { idsOf } from "./accumulator.ts";
import type { Block, ModelAnswer, ModelProvider, ModelRequest, ToolResult } from "./provider.ts";

/** The parts of a step's context that are necessary to record the step's conversations. */
export type RecordingStep = Pick<
  ThreadContext,
  "journal" | "key" | "attempts" | "questions" | "shared"
> &
  Partial<Pick<ThreadContext, "threadId">>;

/**
 * The place of a recorded conversation: the journal, the key of the step, and the id of the conversation within the
 * step.
 */
export type ConversationPlace = { journal: Journal; key: string; conversation: string };

/** The number of times that each request was made within an execution of a step, by the step's outermost attempt. */
const asked = new Map<string, Map<string, number>>();
const mostExecutions = 1000;

/**
 * Returns the place to record a new conversation, or null without a journal. A later execution finds the conversation
 * by the same request. Equal requests of one execution are distinguished by their order.
 */
export function placeOf(
  { journal, key, attempts }: RecordingStep,
  { name }: Pick<ModelProvider, "name">,
  request: ModelRequest,
): ConversationPlace | null {
  if (!journal || key === undefined) return null;
  const sum = digest(JSON.stringify([name, request]));
  const execution = attempts?.outermost ?? "";
  const counts = asked.get(execution) ?? new Map<string, number>();
  asked.delete(execution);
  asked.set(execution, counts);
  const [oldest] = asked.keys();
  if (asked.size > mostExecutions && oldest !== undefined) asked.delete(oldest);
  const id = `${key} ${sum}`;
  const nth = counts.get(id) ?? 0;
  counts.set(id, nth + 1);
  return { journal, key, conversation: `${sum}.${nth}` };
}

/**
 * A summary that replaces everything before a turn. `at` is the number of tokens at which to summarise, if a refusal
 * revealed it.
 */
export type Summarised = { summary: string; at?: number | undefined };

/** A journal entry. `paid` is the spending since the previous entry. */
type Entry = { conversation: string; turn: number; paid?: readonly Spent[] } & (
  | { kind: "answer"; answer: ModelAnswer }
  | { kind: "result"; result: ToolResult }
  | { kind: "repair"; message: string }
  | ({ kind: "summary" } & Summarised)
  | { kind: "begun" | "resumed" }
);

/**
 * A recorded turn. `repair` is the message after an answer that did not fit. `ids` has new ids for calls that were
 * recorded with the same id.
 */
type Turn = {
  answer: ModelAnswer;
  ids: ReadonlyMap<string, readonly string[]>;
  paid: readonly Spent[];
  results: Map<string, { result: ToolResult; paid: readonly Spent[] }>;
  isBegun: boolean;
  repair?: string;
};

/** The turns and tool calls of one conversation that earlier executions recorded. Records new turns and calls. */
export class Recorded {
  readonly #place: ConversationPlace | null;
  readonly #turns = new Map<number, Turn>();
  /** Summaries by the turn that they precede. */
  readonly #summaries = new Map<number, Summarised & { paid?: readonly Spent[] }>();
  #repairs = 0;
  /** The turns that the last entry dropped. The next entry restores the turns if it is a repair of them. */
  #dropped: [turn: number, value: Turn][] = [];

  private constructor(place: ConversationPlace | null) {
    this.#place = place;
  }

  /**
   * Reads the records. `isLast` returns whether an answer ends the conversation. The last answer of a failed execution
   * is requested again.
   */
  static async open(
    place: ConversationPlace | null,
    isLast: (answer: ModelAnswer) => boolean,
  ): Promise<Recorded> {
    const recorded = new Recorded(place);
    const entries = (await place?.journal.read(place.key)) ?? [];
    for (const each of entries) recorded.#take(each, isLast);
    // Marks the turn from which this execution continues, and the calls whose spending it takes over.
    const { turns } = recorded;
    const paid = recorded.#paid();
    takeOver(paid);
    const taken = paid.flatMap(({ call }) => call ?? []);
    if (turns > 0) await recorded.#record({ kind: "resumed", turn: turns }, taken);
    return recorded;
  }

  /** Returns the spending on the recorded turns, from which this execution continues. */
  #paid(): Spent[] {
    const turns = [...this.#turns].flatMap(([turn, { paid, results }]) => [
      ...(this.#summaries.get(turn)?.paid ?? []),
      ...paid,
      ...[...results.values()].flatMap((each) => each.paid),
    ]);
    return [...turns, ...(this.#summaries.get(this.turns + 1)?.paid ?? [])];
  }

  /** Whether the conversation is recorded. */
  get isKept(): boolean {
    return this.#place !== null;
  }

  /** The id of the conversation within its step. */
  get conversation(): string {
    return this.#place?.conversation ?? "";
  }

  get turns(): number {
    return this.#turns.size;
  }

  get toolCalls(): number {
    return [...this.#turns.values()].reduce((sum, { results }) => sum + results.size, 0);
  }

  /** Returns the answer of a turn, counted from 1, or undefined if it must be requested. */
  answer(turn: number): ModelAnswer | undefined {
    return this.#turns.get(turn)?.answer;
  }

  /** Returns the result of a turn's tool call, or undefined if the call must run. */
  result(turn: number, id: string): ToolResult | undefined {
    return this.#turns.get(turn)?.results.get(id)?.result;
  }

  /** Returns the message after a turn's answer that did not fit, or undefined. */
  repair(turn: number): string | undefined {
    return this.#turns.get(turn)?.repair;
  }

  /** Returns the summary before a turn, or undefined. */
  summary(turn: number): Summarised | undefined {
    return this.#summaries.get(turn);
  }

  async summarised(
    turn: number,
    summarised: Summarised,
    paid: readonly Spent[] = [],
  ): Promise<void> {
    await this.#record({ kind: "summary", turn, ...summarised, paid });
  }

  /** The number of repairs: messages after answers that did not fit. */
  get repairs(): number {
    const known = [...this.#turns.values()].filter(({ repair }) => repair !== undefined);
    return known.length + this.#repairs;
  }

  /** Returns whether an earlier execution started the calls of a turn that needed a person's decision. */
  isBegun(turn: number): boolean {
    return this.#turns.get(turn)?.isBegun ?? false;
  }

  /** Returns the idempotency key of a tool call, or undefined if the conversation is not recorded. */
  keyOf(turn: number, id: string): string | undefined {
    const place = this.#place;
    return place ? `${place.key}:${place.conversation}:${turn}:${id}` : undefined;
  }

  async answered(turn: number, answer: ModelAnswer, paid: readonly Spent[] = []): Promise<void> {
    await this.#record({ kind: "answer", turn, answer, paid });
  }

  /**
   * Records the start of a turn's calls after a person's decision. Before the decision, none of the turn's calls run.
   */
  async begun(turn: number): Promise<void> {
    await this.#record({ kind: "begun", turn });
  }

  async finished(turn: number, result: ToolResult, paid: readonly Spent[] = []): Promise<void> {
    await this.#record({ kind: "result", turn, result, ...(paid.length > 0 && { paid }) });
  }

  async repaired(turn: number, message: string): Promise<void> {
    this.#repairs += 1;
    await this.#record({ kind: "repair", turn, message });
  }

  async #record(
    entry: DistributiveOmit<Entry, "conversation">,
    taken?: readonly string[],
  ): Promise<void> {
    const { journal, key, conversation } = this.#place ?? {};
    if (journal && key !== undefined) await journal.record(key, { conversation, ...entry }, taken);
  }

  #take({ entry: given, failed }: JournalEntry, isLast: (answer: ModelAnswer) => boolean): void {
    const entry = given as Entry;
    const { kind, turn } = entry;
    if (entry.conversation !== this.#place?.conversation) return;
    const dropped = this.#dropped;
    this.#dropped = [];
    if (kind === "repair" && dropped.at(-1)?.[0] === turn) {
      for (const [nth, value] of dropped) this.#turns.set(nth, value);
    }
    // Entries after a lost answer are ignored.
    if (turn > this.#turns.size + 1) return;
    const known = this.#turns.get(turn);
    if (kind === "answer") {
      for (let later = turn; this.#turns.delete(later); later += 1) {
        this.#summaries.delete(later + 1);
      }
      const { answer, paid = [this.#spentOn(turn, answer)] } = entry;
      const own = withOwnIds(answer);
      this.#turns.set(turn, { ...own, paid, results: new Map(), isBegun: false });
    } else if (kind === "result" && known) {
      const { result, paid = [] } = entry;
      const ids = known.ids.get(result.tool_use_id) ?? [];
      const id = ids.find((one) => !known.results.has(one)) ?? result.tool_use_id;
      known.results.set(id, { result: { ...result, tool_use_id: id }, paid });
    } else if (kind === "summary") this.#summaries.set(turn, entry);
    else if (kind === "repair" && known) known.repair = entry.message;
    else if (kind === "begun" && known) known.isBegun = true;
    if (failed) this.#drop(isLast);
  }

  /** Returns the spending on an answer that an earlier version recorded without `paid`. */
  #spentOn(turn: number, { model, usage }: ModelAnswer): Spent {
    const call = this.keyOf(turn, "");
    return { model, usage, cost: null, ...(call !== undefined && { call }) };
  }

  /** Drops the last answer of a failed execution, and the answers before it that did not fit. */
  #drop(isLast: (answer: ModelAnswer) => boolean): void {
    let last = this.#turns.get(this.#turns.size);
    if (last?.repair !== undefined || !last || !isLast(last.answer)) return;
    do {
      this.#dropped.unshift([this.#turns.size, last]);
      this.#turns.delete(this.#turns.size);
      last = this.#turns.get(this.#turns.size);
    } while (last?.repair !== undefined);
  }
}

/**
 * Gives the calls of an answer unique ids. Earlier versions recorded the original ids of a service that uses an id
 * twice. Their results have the order of the calls.
 */
function withOwnIds(answer: ModelAnswer): Pick<Turn, "answer" | "ids"> {
  const given = answer.toolUses.map(({ id }) => id);
  const ids = new Map<string, string[]>();
  if (new Set(given).size === given.length) return { answer, ids };
  const own = idsOf(given, "call_");
  for (const [at, id] of own.entries()) {
    const was = given[at] ?? "";
    ids.set(was, [...(ids.get(was) ?? []), id]);
  }
  const toolUses = answer.toolUses.map((use, at) => ({ ...use, id: own[at] ?? use.id }));
  const seen = new Map<unknown, number>();
  const blocks = answer.blocks.map((block): Block => {
    if (block.type !== "tool_use") return block;
    const nth = seen.get(block.id) ?? 0;
    seen.set(block.id, nth + 1);
    return { ...block, id: ids.get(String(block.id))?.[nth] ?? block.id };
  });
  return { answer: { ...answer, toolUses, blocks }, ids };
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;
