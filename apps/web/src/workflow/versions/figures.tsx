import type { VersionRow } from "@uncaged/workflow-server/api-types";
import { cost, count, duration, share, tokens } from "../../lib/format.ts";
import { Table } from "../../ui/table.tsx";

/** The share of ended threads that completed, from 0 to 1; null without ended threads. */
export function successOf({ completed, failed }: Pick<VersionRow, "completed" | "failed">) {
  const ended = completed + failed;
  return ended === 0 ? null : completed / ended;
}

/** A duration, or a dash for null. */
export const took = (ms: number | null): string => (ms === null ? "–" : duration(ms));

const dayMs = 24 * 60 * 60 * 1_000;
const daysShown = 30;
const barPx = 4;
const heightPx = 24;

type Day = VersionRow["days"][number];

/** The bars of the last 30 days, oldest first, with heights in pixels. Days without threads have no bar. */
export function barsOf(days: readonly Day[], now: number) {
  const first = Math.floor(now / dayMs) - daysShown + 1;
  const most = Math.max(1, ...days.map(({ completed, failed }) => completed + failed));
  return days
    .map(({ at, completed, failed }) => ({
      x: (Math.floor(at / dayMs) - first) * barPx,
      completed: (completed / most) * heightPx,
      failed: (failed / most) * heightPx,
    }))
    .filter(({ x }) => x >= 0);
}

/** Completed and failed threads of each of the last 30 days. */
export function Sparkline({ days, now }: { days: readonly Day[]; now: number }) {
  const total = (of: "completed" | "failed") => days.reduce((sum, day) => sum + day[of], 0);
  const label = `Last ${daysShown} days: ${count(total("completed"))} completed, ${count(total("failed"))} failed`;
  return (
    <svg
      role="img"
      aria-label={label}
      width={daysShown * barPx}
      height={heightPx}
      className="flex-none border-b max-sm:col-span-full"
    >
      <title>{label}</title>
      {barsOf(days, now).map(({ x, completed, failed }) => (
        <g key={x}>
          <rect
            x={x}
            width={barPx - 1}
            y={heightPx - completed}
            height={completed}
            className="fill-green"
          />
          <rect
            x={x}
            width={barPx - 1}
            y={heightPx - completed - failed}
            height={failed}
            className="fill-red"
          />
        </g>
      ))}
    </svg>
  );
}

type TableProps = { title: string; rows: VersionRow["roles"] };

/** Calls, failures, tokens and cost of each role or model. */
export function FiguresTable({ title, rows }: TableProps) {
  if (rows.length === 0) return null;
  return (
    <Table
      headings={[title, "Calls", "Errors", "Tokens", "Cost"]}
      rows={rows.map(({ name, calls, failed, ...spent }) => [
        name,
        count(calls),
        failed > 0 ? <span className="text-red">{share(failed / calls)}</span> : "–",
        tokens(spent.tokens),
        cost(spent.cost),
      ])}
    />
  );
}
