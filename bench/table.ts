import type { Machine } from "./machine.ts";
import type { Sample } from "./measure.ts";
import { isMet, type Line } from "./row.ts";

const notMeasured = [
  "a model or a tool, but for the stream's tokens: the steps are made at once and hold 64 characters (1,000 where a thread is forked)",
  "a machine with other work, a slow or a networked disk, more than one worker at a time",
  "the first start after an install or a boot: files and programs are in the system's cache",
  "memory while a thread's log is read: it grows with the log",
  "other engines: no figure here is of one",
];

/** What a run of the benchmarks prints: the table, the machine, and what was not measured. */
export function report(lines: Line[], machine: Machine): string {
  return [...table(lines), "", ...describe(machine), "", ...limits()].join("\n");
}

function table(lines: Line[]): string[] {
  const head = ["what", "ours", "baseline", "the baseline is", "ratio", "target", "met"];
  const rows = [head, ...lines.map(cells)];
  const widths = head.map((_, at) => Math.max(...rows.map((row) => (row[at] ?? "").length)));
  const drawn = rows.map(
    (row) => `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`,
  );
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return [drawn[0] ?? "", rule, ...drawn.slice(1)];
}

function cells(line: Line): string[] {
  const { what, unit, ours, baseline, against, ratio, target } = line;
  const wanted = "ratio" in target ? `at most ${target.ratio}` : `at most ${target.most} ${unit}`;
  const met = isMet(line) ? "yes" : "NO";
  return [what, figure(ours, unit), figure(baseline, unit), against, ratio.toFixed(2), wanted, met];
}

const figure = ({ median, low, high }: Sample, unit: string): string =>
  `${digits(median)} ${unit} (${digits(low)} to ${digits(high)})`;

const digits = (value: number): string => value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);

function describe(machine: Machine): string[] {
  const { cpu, cores, memoryGb, kernel, fileSystem, syncedWriteUs, bun } = machine;
  return [
    "Each figure is a median, in brackets the quarters around it; ours and its baseline were taken in turn.",
    `The machine: ${cpu}, ${cores} cores, ${memoryGb} GB, ${kernel}, Bun ${bun};`,
    `a disk with ${fileSystem} on which a synced write takes ${syncedWriteUs} µs.`,
  ];
}

const limits = (): string[] => [
  "What this does not measure:",
  ...notMeasured.map((text) => `- ${text}`),
];
