import type { Attempt, LiveRow } from "@uncaged/workflow/host";
import { addTally, type Ledger, noTally, tallyOf } from "@uncaged/workflow-agents/ledger";
import { costCell } from "../output/ledger.ts";
import { type Column, threadColumns } from "../output/table.ts";
import { elapsed, grouped, oneLine } from "../output/text.ts";
import { defineCommand } from "../session/command.ts";
import type { Session } from "../session/session.ts";
import { readWhole, type WholeThread } from "../output/thread.ts";

export default defineCommand({
  examples: ["uncaged-workflow ps", "uncaged-workflow pause $(uncaged-workflow ps -q)"],
  async run(session) {
    const rows = await session.host.live();
    if (rows.length === 0) session.note("no thread runs now; see all: uncaged-workflow threads");
    else session.note("stop all: uncaged-workflow pause --all, or kill --all");
    const columns = threadColumns(rows, session.look, [
      { title: "PID", cell: ({ pid }) => (pid === 0 ? "-" : String(pid)), right: true },
      { title: "STEPS", cell: ({ steps }) => String(steps), right: true },
      { title: "ROLE", cell: ({ role }) => oneLine(role ?? "-") },
      { title: "ELAPSED", cell: ({ elapsedMs }) => elapsed(elapsedMs), right: true },
      ...(session.json || session.quiet ? [] : await spentColumns(session, rows)),
    ]);
    session.list(rows, ({ threadId }) => threadId, columns);
  },
});

type Spent = Pick<Ledger, "total" | "unknown">;

const nothing: Spent = { total: noTally, unknown: 0 };

async function spentColumns({ host }: Session, rows: LiveRow[]): Promise<Column<LiveRow>[]> {
  const read = async (row: LiveRow) =>
    [row, await readWhole(host, row).then(spentSoFar, () => nothing)] as const;
  const spent = new Map(await Promise.all(rows.map(read)));
  const hasSpent = ({ total, unknown }: Spent) => total.tokens + total.cost + unknown > 0;
  if (![...spent.values()].some(hasSpent)) return [];
  const spentOf = (row: LiveRow): Spent => spent.get(row) ?? nothing;
  return [
    { title: "TOKENS", cell: (row) => tokensCell(spentOf(row)), right: true },
    { title: "COST", cell: (row) => costCell(spentOf(row).total), right: true },
  ];
}

/** Returns the usage in a thread's ledger plus the usage of its running attempts and their descendants. */
function spentSoFar({ attempts, ledger }: WholeThread): Spent {
  const byId = new Map(attempts.map((attempt) => [attempt.attempt, attempt]));
  const runs = ({ status, parent }: Attempt): boolean => {
    const above = byId.get(parent ?? "");
    return status === "running" || (above !== undefined && runs(above));
  };
  const running = attempts
    .filter(runs)
    .flatMap(({ models }) => Object.values(models))
    .map(({ usage, cost }) => tallyOf(usage, cost));
  return { total: running.reduce(addTally, ledger.total), unknown: ledger.unknown };
}

const tokensCell = ({ total, unknown }: Spent): string =>
  `${grouped(total.tokens)}${unknown > 0 ? " + ?" : ""}`;
