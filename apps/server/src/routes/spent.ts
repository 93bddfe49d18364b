import { type Ledger, ledgerOf } from "@uncaged/workflow-agents/ledger";
import {
  readFailure,
  readNewestEvents,
  readThread,
  type Root,
  type ThreadRow,
} from "@uncaged/workflow/host";

/** What a list shows beside a thread's row: the role at work, else that of its last step, and its spending. */
export type Spending = {
  role: string | null;
  spent: { tokens: number; cost: number; unpriced: number };
};

type Known = { steps: number; updatedAt: number; spending: Spending };

const mostKnown = 10_000;

/** What threads spent, read again only when a thread has new steps. */
export class Spendings {
  readonly #root: Root;
  readonly #known = new Map<string, Known>();

  constructor(root: Root) {
    this.#root = root;
  }

  /** What the thread of a row spent, up to that row. */
  async of(row: ThreadRow): Promise<Spending> {
    const { threadId, steps, updatedAt } = row;
    const known = this.#known.get(threadId);
    if (known?.steps === steps && known.updatedAt === updatedAt) {
      return { ...known.spending, ...this.#atWork(row) };
    }
    const spending = await spendingOf(this.#root, row);
    if (this.#known.size >= mostKnown) this.#known.clear();
    this.#known.set(threadId, { steps, updatedAt, spending });
    return { ...spending, ...this.#atWork(row) };
  }

  #atWork(row: ThreadRow): { role?: string } {
    if (row.status !== "running") return {};
    for (const { stepID, step = 0 } of readNewestEvents(this.#root, row)) {
      if (step <= row.steps) break;
      // `coder#2` is the second step of the role.
      if (typeof stepID === "string") return { role: stepID.replace(/#\d+$/, "") };
    }
    return {};
  }
}

async function spendingOf(root: Root, row: ThreadRow): Promise<Spending> {
  // Removed since the row was read, or not readable: it is still a row of the list.
  const thread = await readThread(root, row).catch(() => null);
  if (!thread) return { role: null, spent: { tokens: 0, cost: 0, unpriced: 0 } };
  const { tokens, cost, unpriced } = ledgerOfThread(root, thread).total;
  return { role: thread.steps.at(-1)?.role ?? null, spent: { tokens, cost, unpriced } };
}

type Thread = Awaited<ReturnType<typeof readThread>>;

/** The ledger of a thread: its own steps, those that a fork copied, and the step that failed. */
export function ledgerOfThread(root: Root, thread: Thread): Ledger {
  const failure = thread.status === "failed" ? readFailure(root, thread) : null;
  const end = failure && { meta: { error: failure } };
  return ledgerOf(thread.steps, thread.forkFrom?.steps ?? 0, end);
}
