import { useQuery } from "@tanstack/react-query";
import { ListTree, Table2, TextCursorInput } from "lucide-react";
import { type ReactNode, useState } from "react";
import { cost, count, counted, duration, tokens, useNow } from "../../lib/format.ts";
import { isRecord } from "../../lib/json.ts";
import { durationOf } from "../../lib/thread-log.ts";
import { isLive } from "../../lib/threads.ts";
import { Copy } from "../../ui/button.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { jsonOf } from "../../ui/json-search.tsx";
import { JsonTree } from "../../ui/json-tree.tsx";
import { More } from "../../ui/more.tsx";
import { Prose } from "../../ui/prose.tsx";
import { Section } from "../../ui/section.tsx";
import { Loaded, RowState } from "../../ui/states.tsx";
import { Nothing, Value } from "../../ui/value.tsx";
import { Thrown } from "../detail/thrown.tsx";
import { valuesQuery } from "../fork/fork.ts";
import type { TraceRow } from "../trace/rows.ts";
import { below, columnsOf, dataOf, memberPath, runsOf, type Values } from "./data.ts";
import type { Run } from "./use-run.ts";

/** A part of a node's data: its input, its output, or the values that its fields can refer to. */
export type DataPart = "input" | "output" | "scope";

/** Picks a value by its path; null if a field can't refer to it. */
export type Pick = (part: DataPart, path: string) => (() => void) | null;

type Props = {
  run: Run;
  node: string;
  title: string;
  pick: Pick;
  hasScope: boolean;
  onRow: (id: string) => void;
};

/** The input and output of a document's node in a run, for each of its runs. */
export function NodeData({ run, node, title, pick, hasScope, onRow }: Props) {
  const runs = runsOf(run.rows, node);
  const [chosen, choose] = useState<string | null>(null);
  const found = runs.findIndex(({ id }) => id === chosen);
  const at = found < 0 ? runs.length - 1 : found;
  const row = runs[at];
  if (!row) return <Nothing>The selected run has not reached this node.</Nothing>;
  const { input, output } = dataOf(run.rows, row);
  const error = row.card?.attempt.error;
  const isRunning = row.status === "running";
  const part = (name: DataPart, values: Values | null, nothing: string) =>
    values ? (
      <Entries values={values} isGrowing={isRunning} pick={(path) => pick(name, path)} />
    ) : (
      <Nothing>{nothing}</Nothing>
    );
  return (
    <div className="flex flex-col">
      <h2 className="px-4 pt-3 wrap-anywhere">{title}</h2>
      {runs.length > 1 && <Runs runs={runs} at={at} onChoose={choose} />}
      <Figures row={row} isLive={run.status !== null && isLive(run.status)} onRow={onRow} />
      {error && (
        <div className="px-4 pb-3">
          <Thrown error={error} />
        </div>
      )}
      <Section name="data-input" title="Input" isOpen>
        {() => part("input", input, "No input was recorded.")}
      </Section>
      <Section name="data-output" title="Output" isOpen>
        {() => part("output", output, isRunning ? "It is still running." : "No output.")}
      </Section>
      {hasScope && run.threadId !== null && (
        <Section name="data-scope" title="Values here" note="variables and params">
          {() => (
            <Scope
              threadId={run.threadId ?? ""}
              number={row.number ?? run.log.steps.length + 1}
              pick={(path) => pick("scope", path)}
            />
          )}
        </Section>
      )}
    </div>
  );
}

type RunsProps = {
  runs: readonly TraceRow[];
  at: number;
  onChoose: (id: string | null) => void;
};

function Runs({ runs, at, onChoose }: RunsProps) {
  // The newest run stays chosen while more runs start.
  const go = (to: number) => onChoose(to === runs.length - 1 ? null : (runs[to]?.id ?? null));
  return (
    <select
      aria-label="Run of the node"
      className="mx-3 mt-2 min-h-8 rounded-md border border-line-control bg-surface px-2 max-sm:min-h-10"
      value={at}
      onChange={({ target }) => go(Number(target.value))}
    >
      {runs.map(({ id, status }, index) => (
        <option key={id} value={index}>
          {`Run ${index + 1} of ${runs.length}, ${status}`}
        </option>
      ))}
    </select>
  );
}

type FiguresProps = { row: TraceRow; isLive: boolean; onRow: (id: string) => void };

function Figures({ row, isLive: isGrowing, onRow }: FiguresProps) {
  const { id, status } = row;
  const now = useNow(1_000, status === "running" && isGrowing);
  const took = durationOf(row, status === "running" ? now : null);
  return (
    <div className="flex items-center gap-2 px-4 pt-1 pb-2">
      <RowState status={status} />
      <span className="min-w-0 flex-1 text-small text-muted">
        {[
          status,
          ...(took === null ? [] : [duration(took)]),
          ...(row.tokens > 0 ? [`${tokens(row.tokens)} tokens`] : []),
          ...(row.cost === null || row.cost === 0 ? [] : [cost(row.cost)]),
        ].join(" · ")}
      </span>
      <IconButton
        icon={<ListTree />}
        label="Show it in the trace"
        title="Show it in the trace"
        onClick={() => onRow(id)}
      />
    </div>
  );
}

type ScopeProps = { threadId: string; number: number; pick: EntriesProps["pick"] };

function Scope({ threadId, number, pick }: ScopeProps) {
  const query = useQuery(valuesQuery(threadId, { kind: "rerun", number }));
  return (
    <Loaded query={query} lines={3}>
      {({ params, variables, localVars }) => (
        <Entries values={{ ...variables, ...localVars, ...params }} pick={pick} />
      )}
    </Loaded>
  );
}

type EntriesProps = {
  values: Values;
  isGrowing?: boolean;
  pick: (path: string) => (() => void) | null;
};

function Entries({ values, isGrowing = false, pick }: EntriesProps) {
  const entries = Object.entries(values);
  if (entries.length === 0) return <Nothing>No values.</Nothing>;
  return entries.map(([name, value]) => (
    <Entry
      key={name}
      name={name}
      value={value}
      isGrowing={isGrowing}
      pick={(path) => pick(below(name, path))}
    />
  ));
}

type EntryProps = Omit<EntriesProps, "values"> & { name: string; value: unknown };

/** A named value: a text as Markdown, a list of objects as a table, anything else as a tree. */
function Entry({ name, value, isGrowing, pick }: EntryProps) {
  const columns = columnsOf(value);
  const [isTable, setTable] = useState(true);
  const insert = pick("");
  const isTree = typeof value === "object" && value !== null;
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <div className="flex items-center gap-1">
        <h4 className="code min-w-0 flex-1 wrap-anywhere text-muted">{name}</h4>
        {columns && (
          <IconButton
            icon={isTable ? <ListTree /> : <Table2 />}
            label={isTable ? `Show ${name} as a tree` : `Show ${name} as a table`}
            title={isTable ? "As a tree" : "As a table"}
            onClick={() => setTable(!isTable)}
          />
        )}
        {insert && <Insert what={name} onInsert={insert} />}
        <Copy text={() => jsonOf(value)} what={`the value of ${name}`} />
      </div>
      {columns && isTable ? (
        <DataTable name={name} columns={columns} rows={value as Values[]} pick={pick} />
      ) : typeof value === "string" ? (
        <Prose text={value} isGrowing={isGrowing} isMarkdown isOpen />
      ) : isTree ? (
        <JsonTree value={value} name={name} onPick={pick} />
      ) : (
        <Value value={value} name={name} />
      )}
    </div>
  );
}

const Insert = ({ what, onInsert }: { what: string; onInsert: () => void }) => (
  <IconButton
    icon={<TextCursorInput />}
    label={`Insert ${what}`}
    title="Insert it into the last field"
    // Keeps the focus in the field.
    onPointerDown={(event) => event.preventDefault()}
    onClick={onInsert}
  />
);

const rowsAtOnce = 50;

type TableProps = {
  name: string;
  columns: readonly string[];
  rows: readonly Values[];
  pick: EntriesProps["pick"];
};

function DataTable({ name, columns, rows, pick }: TableProps) {
  return (
    <More of={rows} atOnce={rowsAtOnce} label={(left) => `Show more of ${counted(left, "row")}`}>
      {(shown) => (
        <div className="overflow-x-auto rounded-md border" tabIndex={0}>
          <table className="w-full text-left" aria-label={name}>
            <thead>
              <tr className="border-b text-small text-faint">
                {columns.map((column) => (
                  <th
                    key={column}
                    scope="col"
                    className="px-2 py-1 font-semibold whitespace-nowrap"
                  >
                    {column}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody className="divide-y">
              {shown.map((row, index) => (
                <tr key={index}>
                  {columns.map((column) => (
                    <td key={column} className="max-w-48 px-2 py-1 align-top">
                      <Cell
                        value={row[column]}
                        what={`${name}${memberPath(index)}${memberPath(column)}`}
                        onPick={pick(`${memberPath(index)}${memberPath(column)}`)}
                      />
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </More>
  );
}

type CellProps = { value: unknown; what: string; onPick: (() => void) | null };

const longestCell = 120;

function Cell({ value, what, onPick }: CellProps): ReactNode {
  const text = textOf(value);
  if (!onPick || value === undefined) return <span className="line-clamp-3">{text}</span>;
  return (
    <button
      type="button"
      className="line-clamp-3 w-full cursor-pointer text-left wrap-anywhere hover:text-accent"
      title={`Insert ${what}`}
      onPointerDown={(event) => event.preventDefault()}
      onClick={onPick}
    >
      {text}
    </button>
  );
}

function textOf(value: unknown): string {
  if (value === undefined) return "";
  if (Array.isArray(value)) return counted(value.length, "item");
  if (isRecord(value)) return counted(Object.keys(value).length, "key");
  if (typeof value === "number") return count(value);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > longestCell ? `${text.slice(0, longestCell)}…` : text;
}
