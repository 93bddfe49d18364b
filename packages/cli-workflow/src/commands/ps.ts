import { type LiveRow, listLive } from "@uncaged/workflow/host";
import { noTally, type Tally } from "@uncaged/workflow-agents/ledger";
import type { Command } from "commander";
import { readWhole } from "../ledger/ledger.ts";
import { statusStyle, statusText } from "../output/status.ts";
import { shortIds, versionText } from "../output/short.ts";
import { costCell, tokensText } from "../output/spent.ts";
import { type Column, table } from "../output/table.ts";
import { oneLine } from "../output/text.ts";
import { elapsed } from "../output/time.ts";
import { examples, type Perform } from "../program/command.ts";
import type { Session } from "../program/session.ts";

export function define(command: Command, perform: Perform): void {
  command.action(perform(ps));
  examples(command, "uncaged-workflow ps", "uncaged-workflow pause $(uncaged-workflow ps -q)");
}

async function ps(session: Session): Promise<void> {
  const rows = await listLive(session.root);
  if (rows.length === 0) session.note("no thread runs now; see all: uncaged-workflow threads");
  const spent = session.json || session.quiet ? new Map() : await spentBy(session, rows);
  session.show(rows, () => text(session, rows, spent));
}

/** What each thread has spent by now, as `thread` tells it. */
async function spentBy(session: Session, rows: LiveRow[]): Promise<Map<string, Tally>> {
  const tallies = rows.map(async ({ threadId, hash }): Promise<[string, Tally]> => {
    const whole = await readWhole(session.root, { threadId, hash }).catch(() => null);
    return [threadId, whole?.ledger.total ?? noTally];
  });
  return new Map(await Promise.all(tallies));
}

function text(session: Session, rows: LiveRow[], spent: Map<string, Tally>): string {
  if (rows.length === 0) return "";
  if (session.quiet) return rows.map(({ threadId }) => `${threadId}\n`).join("");
  const { terminal, columns } = session.output.results;
  const idText = terminal ? shortIds(rows.map(({ threadId }) => threadId)) : (id: string) => id;
  const shown: Column<LiveRow>[] = [
    { title: "ID", cell: ({ threadId }) => idText(threadId), style: () => "bold" },
    {
      title: "STATUS",
      cell: ({ status }) => statusText(status, terminal),
      style: ({ status }) => statusStyle(status),
    },
    { title: "PID", cell: ({ pid }) => String(pid), right: true },
    { title: "STEPS", cell: ({ steps }) => String(steps), right: true },
    { title: "LAST ROLE", cell: ({ role }) => oneLine(role ?? "-") },
    { title: "ELAPSED", cell: ({ elapsedMs }) => elapsed(elapsedMs), right: true },
    ...spentColumns(spent),
    { title: "WORKFLOW", cell: ({ workflow, hash }) => versionText(workflow, hash, terminal) },
  ];
  return table(shown, rows, { paint: session.paint, columns });
}

/** Tokens and cost, where any thread has spent some. */
function spentColumns(spent: Map<string, Tally>): Column<LiveRow>[] {
  const tallyOf = ({ threadId }: LiveRow): Tally => spent.get(threadId) ?? noTally;
  if ([...spent.values()].every(({ tokens, cost }) => tokens + cost === 0)) return [];
  return [
    { title: "TOKENS", cell: (row) => tokensText(tallyOf(row).tokens), right: true },
    { title: "COST", cell: (row) => costCell(tallyOf(row)), right: true },
  ];
}
