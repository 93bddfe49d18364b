import { addUsage, noUsage, type Usage } from "../run/usage.ts";
import { rounded } from "./prices.ts";
import { amountOf, isObject, usageOf } from "./tally.ts";

/** A line of a thread's debug log, as the ledger reads it. */
export type LedgerRecord = {
  tag: string;
  type?: string;
  stepID?: string | null;
  payload?: unknown;
  step?: number;
};

const drives = "E9K2TNWD";

/** What the ledger reads of a debug log: where a worker begins to drive, and what calls and roles tell. */
export const ledgerRecords: readonly string[] = [
  ...[drives, "llm_start", "llm_usage", "llm_done", "step_done", "step_error"],
];

type Spent = { usage: Usage; cost: number | null };

/** What one run of a role spent, as its events tell. What calls outside a role spent is a run, too. */
export type Run = {
  /** Whether it is a role's, which tells of its end. */
  isRole: boolean;
  role: string;
  /** The number of the step that it is to come before. */
  step: number;
  /** Which driving of the thread it belongs to. */
  driving: number;
  /** How it ended; null when no event says so. */
  end: "done" | "failed" | null;
  /** As a step's meta has it. */
  spent: Record<string, unknown>;
  /** How many of its calls have not told all of their tokens. */
  unknown: number;
};

/** The runs that a debug log tells of, and the number of the last driving. */
export function runsOf(records: Iterable<LedgerRecord>): { runs: Run[]; driving: number } {
  const reader = new RunReader();
  for (const record of records) reader.take(record);
  return reader.read();
}

type Call = Spent & { model: string; state: "open" | "whole" | "broken" };
/** `account` is what a role said at its end that it had spent, and on which calls. */
type Open = Omit<Run, "spent" | "unknown"> & {
  calls: Map<string, Call>;
  account: { spent: Record<string, unknown>; calls: ReadonlySet<string> } | null;
};

class RunReader {
  readonly #runs = new Map<string, Open>();
  /** Who has told of each call, and before which steps: what is told of all together counts for nothing then. */
  readonly #metered = new Set<string>();
  #driving = 0;
  #nth = 0;

  take(record: LedgerRecord): void {
    if (record.tag === drives) this.#driving += 1;
    const { type, payload } = record;
    if (!isObject(payload)) return;
    switch (type) {
      case "llm_start":
        return this.#call(record, payload, noUsage);
      case "llm_usage":
        return this.#call(record, payload, usageOf(payload.usage));
      case "llm_done":
        return this.#allCalls(record, payload);
      case "step_done":
      case "step_error":
        return this.#end(record, payload, type === "step_done" ? "done" : "failed");
      default:
    }
  }

  read(): { runs: Run[]; driving: number } {
    return { runs: [...this.#runs.values()].flatMap(settled), driving: this.#driving };
  }

  #call(record: LedgerRecord, payload: Record<string, unknown>, usage: Usage | null): void {
    const { call_id: id, run_id: runId, model } = payload;
    if (typeof id !== "string" || usage === null) return;
    for (const speaker of this.#speakers(record)) this.#metered.add(speaker);
    const cost = amountOf(payload.cost_usd);
    const state = payload.state === "whole" || payload.state === "broken" ? payload.state : "open";
    this.#run(record, runId).calls.set(id, { model: nameOf(model), usage, cost, state });
  }

  #allCalls(record: LedgerRecord, payload: Record<string, unknown>): void {
    const usage = usageOf(payload.usage);
    if (usage === null || this.#speakers(record).some((one) => this.#metered.has(one))) return;
    const cost = amountOf(payload.cost_usd);
    const call: Call = { model: nameOf(payload.model), usage, cost, state: "whole" };
    this.#nth += 1;
    this.#run(record, null).calls.set(String(this.#nth), call);
  }

  #end(
    record: LedgerRecord,
    { run_id: id, spent }: Record<string, unknown>,
    end: Run["end"],
  ): void {
    if (typeof id !== "string") return;
    const run = this.#run(record, id);
    run.end = end;
    if (!isObject(spent)) return;
    const closed = [...run.calls].filter(([, { state }]) => state !== "open");
    run.account = { spent, calls: new Set(closed.map(([call]) => call)) };
  }

  #run({ stepID = null, step = 0 }: LedgerRecord, id: unknown): Open {
    const isKnown = typeof id === "string";
    const key = isKnown ? id : JSON.stringify([this.#driving, stepID, step]);
    const role = stepID?.replace(/#\d+$/, "") ?? "agent";
    const fresh = { role, end: null, calls: new Map<string, Call>(), account: null };
    const run = this.#runs.get(key) ?? { ...fresh, isRole: isKnown, step, driving: this.#driving };
    run.step = Math.max(run.step, step);
    this.#runs.set(key, run);
    return run;
  }

  #speakers({ stepID = null, step = 0 }: LedgerRecord): string[] {
    return [{ stepID }, { step }].map((one) => JSON.stringify([this.#driving, one]));
  }
}

/** A run, and apart from it what it has begun and did not wait for. */
function settled({ calls, account, ...run }: Open): Run[] {
  const all = [...calls];
  if (account === null)
    return [
      summed(
        run,
        all.map(([, call]) => call),
      ),
    ];
  const told = all.filter(([id]) => account.calls.has(id)).map(([, call]) => call);
  const stray = all.filter(([id]) => !account.calls.has(id)).map(([, call]) => call);
  const whole = { ...summed(run, told), spent: account.spent };
  return stray.length === 0 ? [whole] : [whole, summed({ ...run, end: null }, stray)];
}

function summed(run: Omit<Run, "spent" | "unknown">, calls: readonly Call[]): Run {
  const unknown = calls.filter(({ state }) => state !== "whole").length;
  return { ...run, spent: sumOf(calls), unknown };
}

const nameOf = (model: unknown): string => (typeof model === "string" ? model : "unknown");

/** Calls as a step's meta tells of them. */
function sumOf(calls: readonly Call[]): Record<string, unknown> {
  const models = new Map<string, Spent>();
  for (const { model, usage, cost } of calls) {
    models.set(model, added(models.get(model) ?? { usage: noUsage, cost: 0 }, { usage, cost }));
  }
  return {
    usage: calls.reduce((sum, { usage }) => addUsage(sum, usage), noUsage),
    model: calls.at(-1)?.model ?? null,
    models: Object.fromEntries(models),
  };
}

// A call that has told nothing yet has no price that could be unknown.
function added(a: Spent, b: Spent): Spent {
  const costs = [a, b].map(({ usage, cost }) => (isNothing(usage) ? (cost ?? 0) : cost));
  const cost = costs.some((one) => one === null)
    ? null
    : rounded(costs.reduce<number>((sum, one) => sum + (one ?? 0), 0));
  return { usage: addUsage(a.usage, b.usage), cost };
}

const isNothing = (usage: Usage): boolean => Object.values(usage).every((count) => count === 0);
