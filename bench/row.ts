import type { Sample } from "./measure.ts";

/** A line of the table. In every line less is better. */
export type Line = {
  what: string;
  unit: string;
  ours: Sample;
  /** What `ours` is compared with, in a few words, and its figure, of the same run. */
  against: string;
  baseline: Sample;
  /** Ours by the baseline, of the medians. */
  ratio: number;
  /** The most that the ratio may be, or that `ours` may be in its unit. */
  target: { ratio: number } | { most: number };
};

/** A row of the table in the design; some give several lines. Measured in a folder of its own. */
export type Row = { name: string; measure: (folder: string) => Promise<Line[]> };

type Figures = Omit<Line, "ours" | "baseline" | "ratio">;

/** The line that two samples make, the baseline first. */
export function line(figures: Figures, [baseline, ours]: [Sample, Sample]): Line {
  return { ...figures, ours, baseline, ratio: ours.median / baseline.median };
}

/** Whether a line meets its target. */
export const isMet = ({ target, ratio, ours }: Line): boolean =>
  "ratio" in target ? ratio <= target.ratio : ours.median <= target.most;
