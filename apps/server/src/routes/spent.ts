import { ledgerOf, ledgerOfSteps } from "@uncaged/workflow-agents/ledger";
import { type Host, isMoving, type ThreadRow } from "@uncaged/workflow/host";

export type Spending = {
  role: string | null;
  spent: { tokens: number; cost: number; unpriced: number };
};

type Known = { steps: number; updatedAt: number; spending: Spending };

const mostKnown = 10_000;

/** What threads spent, read again only when a thread has new steps. */
export class Spendings {
  readonly #host: Host;
  readonly #known = new Map<string, Known>();

  constructor(host: Host) {
    this.#host = host;
  }

  async of(row: ThreadRow): Promise<Spending> {
    const { threadId, steps, updatedAt } = row;
    let known = this.#known.get(threadId);
    if (known?.steps !== steps || known.updatedAt !== updatedAt) {
      known = { steps, updatedAt, spending: await spendingOf(this.#host, row) };
      if (this.#known.size >= mostKnown) this.#known.clear();
      this.#known.set(threadId, known);
    }
    return { ...known.spending, ...(await this.#atWork(row)) };
  }

  async #atWork(row: ThreadRow): Promise<{ role?: string }> {
    if (row.status !== "running") return {};
    for await (const { record } of this.#host.log(row, { backward: true })) {
      const { stepID, step = 0 } = record;
      if (step <= row.steps) break;
      if (typeof stepID === "string") return { role: stepID };
    }
    return {};
  }
}

async function spendingOf(host: Host, row: ThreadRow): Promise<Spending> {
  // Removed since the row was read, or not readable: it is still a row of the list.
  const thread = await host.read(row).catch(() => null);
  if (!thread) return { role: null, spent: { tokens: 0, cost: 0, unpriced: 0 } };
  // What no step records is in the debug log, which is read when nothing more comes.
  const { tokens, cost, unpriced } = isMoving(thread.status)
    ? ledgerOfSteps(thread.steps, thread.forkFrom?.steps).total
    : ledgerOf(await host.attempts(row)).total;
  return { role: thread.steps.at(-1)?.role ?? null, spent: { tokens, cost, unpriced } };
}
