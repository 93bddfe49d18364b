import { type LiveRow, listLive } from "@uncaged/workflow/host";
import type { Command } from "commander";
import { statusStyle, statusText } from "../output/status.ts";
import { shortIds, versionText } from "../output/short.ts";
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
  session.show(rows, () => text(session, rows));
}

function text(session: Session, rows: LiveRow[]): string {
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
    { title: "WORKFLOW", cell: ({ workflow, hash }) => versionText(workflow, hash, terminal) },
  ];
  return table(shown, rows, { paint: session.paint, columns });
}
