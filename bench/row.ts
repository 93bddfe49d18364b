import type { Sample } from "./measure.ts";

/** Line of the table. Lower is better in every line. */
export type Line = {
  what: string;
  unit: string;
  figure: Sample;
  /** Name of the floor. The same run measures the floor and the product. */
  floorIs: string;
  floor: Sample;
  /** Median of the figure divided by the median of the floor. */
  ratio: number;
  /** Largest allowed ratio, or largest allowed figure in its unit. */
  target: { ratio: number } | { most: number };
};

/** Environment of a measurement: a folder on a real disk, and programs. The first use of a program builds it. */
export type Bench = {
  folder: string;
  /** Path of the command as npm installs it. */
  command: () => Promise<string>;
  /** Path of the standalone binary. */
  binary: () => Promise<string>;
};

/** Measurement of one or more lines. `measure` throws when this machine can't measure the row. */
export type Row = { name: string; measure(bench: Bench): Promise<Line[]> };

/** Makes a line from two samples, the floor first. */
export function line(
  texts: Omit<Line, "figure" | "floor" | "ratio">,
  [floor, figure]: [Sample, Sample],
): Line {
  return { ...texts, figure, floor, ratio: figure.median / floor.median };
}

/** Tells whether a line meets its target. */
export const isMet = ({ target, ratio, figure }: Line): boolean =>
  "ratio" in target ? ratio <= target.ratio : figure.median <= target.most;
