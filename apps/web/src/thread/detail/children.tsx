import { cost, counted, duration, tokens } from "../../lib/format.ts";
import type { ThreadLog } from "../../lib/thread-log.ts";
import { Nothing } from "../../ui/value.tsx";
import { type TraceRow, traceRows } from "../trace/rows.ts";
import { RowState } from "./row-state.tsx";

type Props = { row: TraceRow; log: ThreadLog; onSelect?: ((id: string) => void) | undefined };

/** Maximum number of parts to show. */
const most = 200;

/** The iterations of a loop, or the steps of an iteration or a branch. */
export function Parts({ row, log, onSelect }: Props) {
  const all = traceRows(log).filter(({ parent }) => parent === row.id);
  if (all.length === 0) return <Nothing>Nothing ran in it.</Nothing>;
  const failed = all.filter(({ status }) => status === "failed").length;
  const noun = row.kind === "loop" ? "iteration" : "step";
  return (
    <section className="flex flex-col gap-2 border-t px-4 pt-3 pb-4">
      <h3>
        {counted(all.length, noun)}
        {failed > 0 && <span className="font-normal text-red">, {failed} failed</span>}
      </h3>
      <ol className="divide-y rounded-md border">
        {all.slice(0, most).map((part) => (
          <li key={part.id}>
            <button
              type="button"
              className="flex min-h-9 w-full cursor-pointer items-center gap-2 px-3 text-left -outline-offset-2 hover:bg-hover max-sm:min-h-10"
              onClick={() => onSelect?.(part.id)}
            >
              <RowState status={part.status} />
              <span className="min-w-0 flex-1 truncate">{part.name}</span>
              <span className="text-small whitespace-nowrap text-faint">{figuresOf(part)}</span>
            </button>
          </li>
        ))}
      </ol>
      {all.length > most && <p className="text-muted">The first {most} are shown.</p>}
    </section>
  );
}

const figuresOf = ({ startedAt, endedAt, tokens: used, cost: paid }: TraceRow): string =>
  [
    used > 0 ? `${tokens(used)} tokens` : "",
    paid ? cost(paid) : "",
    startedAt === null || endedAt === null ? "" : duration(endedAt - startedAt),
  ]
    .filter(Boolean)
    .join(" · ");
