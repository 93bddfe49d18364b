/* Clock and random numbers of a replay, which the process sets before it loads a bundle. */

const RealDate = Date;
const realNow = Date.now;
const realRandom = Math.random;

let offset = 0;
let random = realRandom;

/** Sources of random numbers. A workflow that draws between steps takes different branches with `low` and `high`. */
export type RandomRange = "low" | "high" | "whole";

const mostNarrow = 1_000;

/**
 * Replaces clock and random numbers of this process by the values of {@link surroundReplay}. Returns a function that
 * restores them.
 */
export function replaceSurroundings(): () => void {
  const now = () => realNow() + offset;
  const Shifted = new Proxy(RealDate, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget) as object,
    apply: (target) => new target(now()).toString(),
    get: (target, key) => (key === "now" ? now : (Reflect.get(target, key) as unknown)),
  });
  globalThis.Date = Shifted;
  Math.random = () => random();
  return () => {
    globalThis.Date = RealDate;
    Math.random = realRandom;
  };
}

/** Sets the clock, which then continues from there, and restarts a stream of random numbers. */
export function surroundReplay(now: number, range: RandomRange): void {
  offset = now - realNow();
  let [state, drawn] = [20_150_601, 0];
  const next = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
  random = () => {
    drawn += 1;
    // A loop that draws until a number matches must end.
    if (range === "whole" || drawn > mostNarrow) return next();
    return range === "low" ? next() / 1_000 : 1 - next() / 1_000 - Number.EPSILON;
  };
}
