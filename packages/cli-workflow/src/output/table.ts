import type { ThreadRow } from "@uncaged/workflow/host";
import { type Look, type Paint, statusStyle, statusText, type Style } from "./style.ts";
import { isoTime, shortIds, stoppedText, truncate, versionText } from "./text.ts";

/** A column: its title, the text of a row's cell, and the style of that text. */
export type Column<Row> = {
  title: string;
  cell: (row: Row) => string;
  style?: (row: Row) => Style | null;
  right?: boolean;
};

const gap = "  ";

/** Returns rows as aligned columns under their titles. Truncates only the last column, to `columns`. */
export function table<Row>(
  columns: Column<Row>[],
  rows: Row[],
  look: { paint: Paint; columns: number },
): string {
  const cells = rows.map((row) => columns.map((column) => column.cell(row)));
  const widths = columns.map(({ title }, at) =>
    Math.max(title.length, ...cells.map((row) => Bun.stringWidth(row[at] ?? ""))),
  );
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + gap.length, 0);
  const room = Math.max(12, look.columns - before);
  const line = (texts: string[], styleOf: (at: number) => Style | null) =>
    texts
      .map((text, at) => {
        const last = at === texts.length - 1;
        const shown = last ? truncate(text, room) : text;
        const space = " ".repeat(Math.max(0, (widths[at] ?? 0) - Bun.stringWidth(shown)));
        const style = styleOf(at);
        const painted = style === null ? shown : look.paint(style, shown);
        if (columns[at]?.right) return space + painted;
        return last ? painted : painted + space;
      })
      .join(gap)
      .trimEnd();
  const titles = line(
    columns.map(({ title }) => title),
    () => "dim",
  );
  const lines = rows.map((row, at) =>
    line(cells[at] ?? [], (column) => columns[column]?.style?.(row) ?? null),
  );
  return `${[titles, ...lines].join("\n")}\n`;
}

type Thread = Pick<ThreadRow, "threadId" | "status" | "steps" | "workflow" | "hash"> &
  Partial<Pick<ThreadRow, "reason" | "sleepingUntil">>;

const sleepColumn: Column<Thread> = {
  title: "SLEEPING UNTIL",
  cell: ({ sleepingUntil }) => (sleepingUntil === undefined ? "-" : isoTime(sleepingUntil)),
};

/** Returns the columns of a list of threads. `own` is inserted between the status and the workflow. */
export function threadColumns<Row extends Thread>(
  rows: readonly Row[],
  { terminal }: Look,
  own: Column<Row>[],
): Column<Row>[] {
  const idText = terminal ? shortIds(rows.map(({ threadId }) => threadId)) : (id: string) => id;
  return [
    { title: "ID", cell: ({ threadId }) => idText(threadId), style: () => "bold" },
    {
      title: "STATUS",
      cell: ({ status, reason, steps }) =>
        `${statusText(status, terminal)}${reason === "maxRounds" ? `: ${stoppedText(steps)}` : ""}`,
      style: ({ status }) => statusStyle(status),
    },
    ...(rows.some(({ sleepingUntil }) => sleepingUntil !== undefined) ? [sleepColumn] : []),
    ...own,
    { title: "WORKFLOW", cell: ({ workflow, hash }) => versionText(workflow, hash, terminal) },
  ];
}

/**
 * Returns pairs of a name and a text, with the texts aligned. Indents further lines of a text to its first
 * line.
 */
export function pairs(entries: [name: string, text: string][], paint: Paint): string {
  const width = Math.max(...entries.map(([name]) => name.length)) + gap.length;
  return entries
    .map(([name, text]) => {
      const hanging = text.replaceAll("\n", `\n${" ".repeat(width)}`);
      return `${paint("dim", name.padEnd(width))}${hanging}\n`;
    })
    .join("");
}
