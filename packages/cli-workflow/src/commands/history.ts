import { withName } from "../arguments/names.ts";
import { costText } from "../output/ledger.ts";
import { ago, elapsed, isoTime } from "../output/text.ts";
import { defineCommand } from "../session/command.ts";

const workedCell = (workedMs: number | null): string =>
  workedMs === null ? "-" : elapsed(workedMs);

export default defineCommand({
  declare: (command) => command.argument("<name>", "the workflow"),
  examples: ["uncaged-workflow history review"],
  async run(session, _options, name: string) {
    const rows = await withName(session, name, () => session.host.history(name));
    const now = Date.now();
    session.list(rows, ({ hash }) => hash, [
      { title: " ", cell: ({ current }) => (current ? "*" : ""), style: () => "green" },
      { title: "HASH", cell: ({ hash }) => hash, style: (row) => (row.current ? "bold" : null) },
      { title: "THREADS", cell: ({ threads }) => String(threads), right: true },
      { title: "COMPLETED", cell: ({ completed }) => String(completed), right: true },
      {
        title: "FAILED",
        cell: ({ failed }) => String(failed),
        style: ({ failed }) => (failed > 0 ? "red" : null),
        right: true,
      },
      { title: "P50", cell: ({ p50Ms }) => workedCell(p50Ms), right: true },
      { title: "P95", cell: ({ p95Ms }) => workedCell(p95Ms), right: true },
      { title: "COST", cell: ({ cost }) => costText(cost), right: true },
      { title: "ADDED", cell: ({ timestamp: at }) => `${ago(at, now)}  ${isoTime(at)}` },
    ]);
  },
});
