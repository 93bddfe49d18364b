import type { Ledger, Tally } from "@uncaged/workflow-agents/ledger";
import type { Paint, Style } from "./style.ts";
import { type Column, table } from "./table.ts";
import { count, grouped, oneLine } from "./text.ts";

/** Formats an amount in US dollars: four decimals below one dollar, two decimals above. */
export const costText = (cost: number): string => `$${cost.toFixed(cost < 1 ? 4 : 2)}`;

export function costCell({ cost, unpriced }: Tally): string {
  if (unpriced === 0) return costText(cost);
  return cost > 0 ? `${costText(cost)} + ?` : "?";
}

export function spentText({ tokens, cost, unpriced }: Omit<Tally, "usage">): string {
  const parts: string[] = [];
  if (tokens > 0) parts.push(count(tokens, "token"));
  if (cost > 0) parts.push(costText(cost));
  if (unpriced > 0) parts.push("a price is not known");
  return parts.join(", ");
}

type Row = Tally & { name: string; style: Style | null };

const columnsOf = (several: boolean): Column<Row>[] => [
  {
    title: several ? "ROLE, MODEL" : "ROLE",
    cell: ({ name }) => oneLine(name),
    style: ({ style }) => style,
  },
  { title: "INPUT", cell: ({ usage }) => grouped(usage.input_tokens), right: true },
  { title: "CACHED", cell: ({ usage }) => grouped(cachedOf(usage)), right: true },
  { title: "OUTPUT", cell: ({ usage }) => grouped(usage.output_tokens), right: true },
  { title: "THINKING", cell: ({ usage }) => grouped(usage.thinking_tokens), right: true },
  { title: "COST", cell: costCell, right: true },
];

export const ledgerLine = ({ total, unknown }: Ledger): string =>
  [spentText(total), unknownText(unknown)].filter((part) => part !== "").join(", and ");

/** Returns the number of calls that were interrupted before they reported all their tokens; "" for none. */
export const unknownText = (unknown: number): string =>
  unknown === 0 ? "" : `the unreported tokens of ${count(unknown, "interrupted call")}`;

/**
 * Returns the usage of a thread: a line for each role, a line for each model if there are several, then the total, the
 * usage of lost attempts, and the usage that a fork saved. "" without any usage.
 */
export function ledgerText(ledger: Ledger, look: { paint: Paint; columns: number }): string {
  const { total, saved, lost, unknown, roles, models } = ledger;
  if (total.tokens + total.cost + saved.tokens + saved.cost === 0) {
    return unknown === 0 ? "" : `${ledgerLine(ledger)}\n`;
  }
  const several = Object.keys(models).length > 1;
  const rows: Row[] = [
    ...rowsOf(roles, "cyan"),
    ...(several ? rowsOf(models, null) : []),
    ...rowsOf({ all: total }, "bold"),
    ...(lost.tokens + lost.cost > 0 ? rowsOf({ "of it lost": lost }, "bold") : []),
    ...(saved.tokens + saved.cost > 0 ? rowsOf({ "saved by the fork": saved }, "bold") : []),
  ];
  const rest = unknown === 0 ? "" : `without ${unknownText(unknown)}\n`;
  return `${table(columnsOf(several), rows, look)}${rest}`;
}

const rowsOf = (tallies: Record<string, Tally>, style: Row["style"]): Row[] =>
  Object.entries(tallies).map(([name, tally]) => ({ ...tally, name, style }));

const cachedOf = (usage: Tally["usage"]): number =>
  usage.cache_read_tokens + usage.cache_write_tokens;
