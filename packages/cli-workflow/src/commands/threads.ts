import { listThreads, type Status, statuses, type ThreadRow } from "@uncaged/workflow/host";
import { type Command, Option } from "commander";
import { wholeNumber } from "../arguments/number.ts";
import { WorkflowError } from "@uncaged/workflow/host";
import { statusStyle, statusText } from "../output/status.ts";
import { shortIds, versionText } from "../output/short.ts";
import { type Column, table } from "../output/table.ts";
import { ago } from "../output/time.ts";
import { examples, type Perform } from "../program/command.ts";
import type { Session } from "../program/session.ts";

type Options = { limit: number; offset: number; status?: Status[]; workflow?: string };

const defaultLimit = 20;
const most = 1_000_000_000;

export function define(command: Command, perform: Perform): void {
  command
    .argument("[workflow]", "only those of this workflow: a name, name@hash or a hash")
    .option("--workflow <workflow>", "the same")
    .addOption(
      new Option("--status <status...>", "only those with one of these statuses").choices(statuses),
    )
    .option("--limit <n>", "at most so many", wholeNumber("--limit", 1, most), defaultLimit)
    .option("--offset <n>", "leave out the newest n", wholeNumber("--offset", 0, most), 0)
    .action(perform(threads));
  examples(
    command,
    "uncaged-workflow threads review --limit 5",
    "uncaged-workflow kill $(uncaged-workflow threads -q --status running)",
  );
}

async function threads(session: Session, options: Options, name?: string): Promise<void> {
  const { limit, offset, status } = options;
  const workflow = filterOf(name, options.workflow);
  const rows = await listThreads(session.root, { limit, offset, status, workflow });
  if (rows.length === 0) {
    session.note(
      workflow || status || offset > 0
        ? "no thread fits; see all: uncaged-workflow threads"
        : "no threads yet; start one: uncaged-workflow run <workflow>",
    );
  }
  session.show(rows, () => text(session, rows));
}

function filterOf(argument: string | undefined, option: string | undefined): string | undefined {
  if (argument === undefined || option === undefined || argument === option) {
    return argument ?? option;
  }
  throw new WorkflowError({
    code: "BAD_OPTION",
    kind: "usage",
    message: "two workflows are named, and one is meant",
    hint: "give the argument or --workflow",
  });
}

function text(session: Session, rows: ThreadRow[]): string {
  if (rows.length === 0) return "";
  if (session.quiet) return rows.map(({ threadId }) => `${threadId}\n`).join("");
  const { terminal, columns } = session.output.results;
  const idText = terminal ? shortIds(rows.map(({ threadId }) => threadId)) : (id: string) => id;
  const now = Date.now();
  const shown: Column<ThreadRow>[] = [
    { title: "ID", cell: ({ threadId }) => idText(threadId), style: () => "bold" },
    {
      title: "STATUS",
      cell: ({ status }) => statusText(status, terminal),
      style: ({ status }) => statusStyle(status),
    },
    { title: "STEPS", cell: ({ steps }) => String(steps), right: true },
    { title: "STARTED", cell: ({ createdAt }) => ago(createdAt, now) },
    { title: "UPDATED", cell: ({ updatedAt }) => ago(updatedAt, now) },
    {
      title: "WORKFLOW",
      cell: ({ workflow, hash }) => versionText(workflow, hash, terminal),
    },
  ];
  return table(shown, rows, { paint: session.paint, columns });
}
