import { type Status, statuses } from "@uncaged/workflow/host";
import { Option } from "commander";
import { withName } from "../arguments/names.ts";
import { dollars, timeOf, wholeNumber } from "../arguments/options.ts";
import { threadColumns } from "../output/table.ts";
import { ago } from "../output/text.ts";
import { defineCommand } from "../session/command.ts";
import { wrongUse } from "../session/errors.ts";
import type { Session } from "../session/session.ts";

type Options = {
  limit: number;
  offset: number;
  status?: Status[];
  workflow?: string;
  search?: string;
  since?: number;
  minCost?: number;
};

const defaultLimit = 20;
const most = 1_000_000_000;
const status = new Option("--status <status...>", "only threads with one of these statuses");

export default defineCommand({
  declare: (command) =>
    command
      .argument("[workflow]", "only threads of this workflow: a name, name@hash or a hash")
      .option("--workflow <workflow>", "the same")
      .addOption(status.choices(statuses))
      .option("--search <words>", "only threads with all of these words, see the guide")
      .option("--since <time>", "only threads started since: 30m, 2h, 1d or a time", (text) =>
        timeOf("--since", text, Date.now()),
      )
      .option("--min-cost <dollars>", "only threads that cost at least this", dollars("--min-cost"))
      .option("--limit <n>", "at most n threads", wholeNumber("--limit", 1, most), defaultLimit)
      .option("--offset <n>", "skip the newest n", wholeNumber("--offset", 0, most), 0),
  examples: [
    "uncaged-workflow threads review --since 1d --min-cost 0.50",
    "uncaged-workflow resume $(uncaged-workflow threads -q --status interrupted --limit 1000)",
  ],
  async run(session, options: Options, name?: string) {
    const { workflow = name, ...query } = options;
    if (name !== undefined && options.workflow !== undefined) {
      throw wrongUse("the workflow is named twice", "give the argument or --workflow");
    }
    const { rows } = await session.host.threads({ ...query, workflow, paged: false });
    // The host ignores an empty name, so an empty variable in a script would list every thread.
    if (workflow !== undefined && (workflow === "" || rows.length === 0)) {
      await checkKnown(session, workflow);
    }
    if (rows.length === 0) {
      session.note(
        workflow || query.search || query.status || query.since || query.minCost || query.offset > 0
          ? "no thread matches; see all: uncaged-workflow threads"
          : "no threads yet; start one: uncaged-workflow run <workflow>",
      );
    }
    const now = Date.now();
    const columns = threadColumns(rows, session.look, [
      { title: "STEPS", cell: ({ steps }) => String(steps), right: true },
      { title: "STARTED", cell: ({ createdAt }) => ago(createdAt, now) },
      { title: "UPDATED", cell: ({ updatedAt }) => ago(updatedAt, now) },
    ]);
    session.list(rows, ({ threadId }) => threadId, columns);
  },
});

// A removed workflow may still have threads, but an unknown name is an error.
async function checkKnown(session: Session, workflow: string): Promise<void> {
  const { host } = session;
  const query = { workflow, limit: 1, paged: false };
  const hasThreads = workflow !== "" && (await host.threads(query)).rows.length > 0;
  if (!hasThreads) await withName(session, workflow, () => host.resolve(workflow));
}
