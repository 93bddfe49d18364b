import type { LiveRow } from "@uncaged/workflow/host";
import { type Ledger, noTally } from "@uncaged/workflow-agents/ledger";
import type { Command } from "commander";
import { readWhole } from "../thread/thread.ts";
import { grouped, oneLine } from "../output/text.ts";
import { costCell } from "../output/ledger.ts";
import { type Column, idAndStatus, table, versionColumn } from "../output/table.ts";
import { elapsed } from "../output/time.ts";
import { examples, type Perform } from "../session/command.ts";
import type { Session } from "../session/session.ts";

export function define(command: Command, perform: Perform): void {
  command.action(perform(ps));
  examples(command, "uncaged-workflow ps", "uncaged-workflow pause $(uncaged-workflow ps -q)");
}

async function ps(session: Session): Promise<void> {
  const rows = await session.host.live();
  if (rows.length === 0) session.note("no thread runs now; see all: uncaged-workflow threads");
  const spent = session.json || session.quiet ? new Map() : await spentBy(session, rows);
  session.show(rows, () => text(session, rows, spent));
}

type Spent = Pick<Ledger, "total" | "unknown">;

const nothing: Spent = { total: noTally, unknown: 0 };

/** What each thread has spent by now, as `thread` shows it. */
async function spentBy(session: Session, rows: LiveRow[]): Promise<Map<string, Spent>> {
  const ledgers = rows.map(async ({ threadId, hash }): Promise<[string, Spent]> => {
    const whole = await readWhole(session.host, { threadId, hash }).catch(() => null);
    return [threadId, whole?.ledger ?? nothing];
  });
  return new Map(await Promise.all(ledgers));
}

function text(session: Session, rows: LiveRow[], spent: Map<string, Spent>): string {
  if (rows.length === 0) return "";
  if (session.quiet) return rows.map(({ threadId }) => `${threadId}\n`).join("");
  const shown: Column<LiveRow>[] = [
    ...idAndStatus(rows, session.look),
    { title: "PID", cell: ({ pid }) => String(pid), right: true },
    { title: "STEPS", cell: ({ steps }) => String(steps), right: true },
    { title: "LAST ROLE", cell: ({ role }) => oneLine(role ?? "-") },
    { title: "ELAPSED", cell: ({ elapsedMs }) => elapsed(elapsedMs), right: true },
    ...spentColumns(spent),
    versionColumn(session.look),
  ];
  return table(shown, rows, session.look);
}

/** Tokens and cost, where any thread has spent some. */
function spentColumns(spent: Map<string, Spent>): Column<LiveRow>[] {
  const spentOf = ({ threadId }: LiveRow): Spent => spent.get(threadId) ?? nothing;
  if ([...spent.values()].every(isNothing)) return [];
  return [
    { title: "TOKENS", cell: (row) => tokensCell(spentOf(row)), right: true },
    { title: "COST", cell: (row) => costCell(spentOf(row).total), right: true },
  ];
}

const isNothing = ({ total: { tokens, cost }, unknown }: Spent): boolean =>
  tokens + cost + unknown === 0;

/** Tokens in a table; `?` is what calls that broke off had not reported. */
const tokensCell = ({ total, unknown }: Spent): string =>
  `${grouped(total.tokens)}${unknown > 0 ? " + ?" : ""}`;
