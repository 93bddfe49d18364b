import { INPUT, type Step, WAIT } from "../contract/contract.ts";
import { AttemptLog } from "./attempt-log.ts";
import type { JournalState } from "./journal.ts";
import { spendingParts } from "./parts.ts";
import type { EndRecord, StartRecord } from "./record.ts";
import { addTally, noTally, type Tally } from "./tally.ts";
import type { NamedFigures, ThreadWork } from "./work-figures.ts";

/** The end of a thread; `isRunning` while a worker drives it. */
type Ending = { end: EndRecord | null; isRunning: boolean };

/** Computes a thread's work from its steps and its journal, without its debug log. */
export class WorkFold {
  #log: AttemptLog | null = null;
  #steps = 0;
  #role: string | null = null;
  #question: Step | null = null;

  /** Adds the next step of the thread with this start record. */
  step(step: Step, { forkFrom }: StartRecord): void {
    const { role } = step;
    this.#steps += 1;
    this.#question = role === WAIT ? step : null;
    if (role === WAIT || role === INPUT) return;
    this.#role = role;
    this.#log ??= new AttemptLog({ saved: forkFrom?.steps ?? 0 });
    this.#log.step(this.#steps, step);
  }

  /** Returns the work of the thread. Call it once, after all steps. */
  of(journal: JournalState, { end, isRunning }: Ending): ThreadWork {
    const log = this.#log ?? new AttemptLog();
    log.journal(journal);
    if (!isRunning) log.close(end);
    const roles = new Sums();
    const models = new Sums();
    let total = noTally;
    let hasError = false;
    const known = new Set(log.attempts.map(({ attempt }) => attempt));
    // An attempt without a model call or a step is only in the journal.
    const others = [...journal.attempts.values()].filter(({ attempt }) => !known.has(attempt));
    const own = log.attempts.filter(({ saved }) => !saved);
    for (const { role, status } of [...own, ...others]) {
      hasError ||= status === "failed";
      if (role !== null) roles.count(role, status === "failed");
    }
    for (const part of spendingParts(log.attempts)) {
      if (part.kind === "saved") continue;
      for (const [model, tally] of part.models) {
        total = addTally(total, tally);
        roles.add(part.role, tally);
        models.add(model, tally);
      }
    }
    for (const { model, state, attempt } of journal.calls.values()) {
      const isOpen = isRunning && journal.attempts.get(attempt ?? "")?.status === "open";
      models.count(model, state === "broken" || (state === "open" && !isOpen));
    }
    const asking = this.#question?.meta.attempt ?? this.#question?.attempt;
    const asker = typeof asking === "string" ? journal.attempts.get(asking)?.role : undefined;
    return {
      ...{ role: this.#role, asker: asker ?? null, hasError },
      spent: { tokens: total.tokens, cost: total.cost, unpriced: total.unpriced },
      ...{ roles: roles.figures, models: models.figures },
    };
  }
}

type Sum = { calls: number; parts: number; failed: number; tally: Tally };

class Sums {
  readonly #sums = new Map<string, Sum>();

  count(name: string, isFailed: boolean): void {
    const sum = this.#of(name);
    sum.calls += 1;
    if (isFailed) sum.failed += 1;
  }

  add(name: string, tally: Tally): void {
    const sum = this.#of(name);
    sum.parts += 1;
    sum.tally = addTally(sum.tally, tally);
  }

  // Spending without counted calls, such as a step's own record, counts as one call each.
  get figures(): NamedFigures[] {
    return Array.from(this.#sums, ([name, { calls, parts, failed, tally }]) => ({
      ...{ name, calls: calls > 0 ? calls : parts, failed },
      ...{ tokens: tally.tokens, cost: tally.cost },
    }));
  }

  #of(name: string): Sum {
    const sum = this.#sums.get(name) ?? { calls: 0, parts: 0, failed: 0, tally: noTally };
    this.#sums.set(name, sum);
    return sum;
  }
}
