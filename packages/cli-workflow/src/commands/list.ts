import type { WorkflowRow } from "@uncaged/workflow/host";
import type { Command } from "commander";
import { shortHash, oneLine } from "../output/text.ts";
import { type Column, table } from "../output/table.ts";
import { ago } from "../output/time.ts";
import { examples, type Perform } from "../session/command.ts";
import type { Session } from "../session/session.ts";

export function define(command: Command, perform: Perform): void {
  command.action(perform(list));
  examples(command, "uncaged-workflow list", "uncaged-workflow list --json | jq -r '.[].name'");
}

async function list(session: Session): Promise<void> {
  const rows = await session.host.workflows();
  if (rows.length === 0) {
    session.note("no workflows yet; add one: uncaged-workflow add <name> <file>");
  }
  session.show(rows, () => text(session, rows));
}

function text(session: Session, rows: WorkflowRow[]): string {
  if (rows.length === 0) return "";
  if (session.quiet) return rows.map(({ name }) => `${name}\n`).join("");
  const { terminal } = session.look;
  const now = Date.now();
  const shown: Column<WorkflowRow>[] = [
    { title: "NAME", cell: ({ name }) => name, style: () => "bold" },
    { title: "HASH", cell: ({ hash }) => (terminal ? shortHash(hash) : hash) },
    { title: "ADDED", cell: ({ timestamp }) => ago(timestamp, now) },
    { title: "VERSIONS", cell: ({ versions }) => String(versions), right: true },
    { title: "DESCRIPTION", cell: ({ description }) => oneLine(description) },
  ];
  return table(shown, rows, session.look);
}
