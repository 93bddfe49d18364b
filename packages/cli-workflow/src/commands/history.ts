import type { VersionRow } from "@uncaged/workflow/host";
import type { Command } from "commander";
import { withName } from "../arguments/names.ts";
import { type Column, table } from "../output/table.ts";
import { ago, isoTime } from "../output/time.ts";
import { examples, type Perform } from "../session/command.ts";
import type { Session } from "../session/session.ts";

export function define(command: Command, perform: Perform): void {
  command.argument("<name>", "the workflow").action(perform(history));
  examples(command, "uncaged-workflow history review");
}

async function history(session: Session, _options: unknown, name: string): Promise<void> {
  const rows = await withName(session, name, () => session.host.history(name));
  session.show(rows, () => {
    const now = Date.now();
    const shown: Column<VersionRow>[] = [
      { title: " ", cell: ({ current }) => (current ? "*" : ""), style: () => "green" },
      {
        title: "HASH",
        cell: ({ hash }) => hash,
        style: ({ current }) => (current ? "bold" : null),
      },
      { title: "THREADS", cell: ({ threads }) => String(threads), right: true },
      {
        title: "ADDED",
        cell: ({ timestamp }) => `${ago(timestamp, now)}  ${isoTime(timestamp)}`,
      },
    ];
    return table(shown, rows, session.look);
  });
}
