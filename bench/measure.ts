/** Median and quartiles of several readings. */
export type Sample = { median: number; low: number; high: number };

/** Returns one reading, in the unit of its row. */
export type Take = () => Promise<number> | number;

/** Takes readings of the floor and the product alternately, so that other work on the machine affects both. */
export async function inTurn(times: number, floor: Take, ours: Take): Promise<[Sample, Sample]> {
  const readings: [number[], number[]] = [[], []];
  for (let n = 0; n < times; n += 1) {
    readings[0].push(await floor());
    readings[1].push(await ours());
  }
  return [sampleOf(readings[0]), sampleOf(readings[1])];
}

/** Returns the median and the quartiles of several readings. */
export function sampleOf(readings: readonly number[]): Sample {
  const sorted = readings.toSorted((a, b) => a - b);
  const at = (part: number) => {
    const place = part * (sorted.length - 1);
    const below = sorted[Math.floor(place)] ?? Number.NaN;
    const above = sorted[Math.ceil(place)] ?? Number.NaN;
    return below + (above - below) * (place % 1);
  };
  return { median: at(0.5), low: at(0.25), high: at(0.75) };
}

/** Time on the clock shared by all processes of a machine, in milliseconds. */
export const now = (): number => performance.timeOrigin + performance.now();

/** Returns the duration of an action, in milliseconds. */
export async function timed(work: () => unknown): Promise<number> {
  const began = now();
  await work();
  return now() - began;
}
