import type { Sample } from "./measure.ts";

/** A line of the table. Less is better in every line. */
export type Line = {
  what: string;
  unit: string;
  figure: Sample;
  /** The floor's name, and its figure from the same run. */
  floorIs: string;
  floor: Sample;
  /** Median of the figure over the median of the floor. */
  ratio: number;
  /** The largest allowed ratio, or the largest allowed figure in its unit. */
  target: { ratio: number } | { most: number };
};

/** Where a row measures: a folder on a real disk, and the programs, which are built on first use. */
export type Bench = {
  folder: string;
  /** Path of the command as npm installs it. */
  command: () => Promise<string>;
  /** Path of the standalone binary. */
  binary: () => Promise<string>;
};

/** `about` is the sentence of docs/explanation/performance.md. `measure` throws when the row can't be measured on this machine. */
export type Row = { name: string; about: string; measure(bench: Bench): Promise<Line[]> };

/** Makes a line from two samples, the floor first. */
export function line(
  texts: Omit<Line, "figure" | "floor" | "ratio">,
  [floor, figure]: [Sample, Sample],
): Line {
  return { ...texts, figure, floor, ratio: figure.median / floor.median };
}

/** Whether a line meets its target. */
export const isMet = ({ target, ratio, figure }: Line): boolean =>
  "ratio" in target ? ratio <= target.ratio : figure.median <= target.most;
