/** A figure that was taken several times: its median, and its quarters as the spread. */
export type Sample = { median: number; low: number; high: number; least: number; times: number };

/** Something that takes one figure of itself, in whatever unit the row has. */
export type Take = () => Promise<number> | number;

/** Takes figures in turn, so that whatever else the machine does meets all of them. */
export async function alternately(times: number, takes: readonly Take[]): Promise<Sample[]> {
  return (await figuresOf(times, takes)).map(sampleOf);
}

/** The figures themselves that {@link alternately} makes its samples of. */
export async function figuresOf(times: number, takes: readonly Take[]): Promise<number[][]> {
  const figures = takes.map((): number[] => []);
  for (let n = 0; n < times; n += 1) {
    for (const [index, take] of takes.entries()) figures[index]?.push(await take());
  }
  return figures;
}

/** {@link alternately} of two. */
export async function inTurn(times: number, baseline: Take, ours: Take): Promise<[Sample, Sample]> {
  return (await alternately(times, [baseline, ours])) as [Sample, Sample];
}

/** The median and the quarters of some figures. */
export function sampleOf(figures: number[]): Sample {
  const sorted = figures.toSorted((a, b) => a - b);
  const at = (part: number) => {
    const place = part * (sorted.length - 1);
    const below = sorted[Math.floor(place)] ?? Number.NaN;
    const above = sorted[Math.ceil(place)] ?? Number.NaN;
    return below + (above - below) * (place % 1);
  };
  return { median: at(0.5), low: at(0.25), high: at(0.75), least: at(0), times: figures.length };
}

/** The clock that all processes of a machine share, in milliseconds. */
export const now = (): number => performance.timeOrigin + performance.now();

/** Milliseconds that a piece of work takes. */
export async function timed(work: () => unknown): Promise<number> {
  const began = now();
  await work();
  return now() - began;
}
