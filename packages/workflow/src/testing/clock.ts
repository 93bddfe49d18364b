/** A clock that changes only when it is set, in milliseconds. */
export type TestClock = {
  now: () => number;
  set: (time: number) => void;
  advance: (by: number) => void;
};

/** Creates a clock set to `start`. Its `now` can replace `Date.now`. */
export function settableClock(start = 0): TestClock {
  let time = start;
  return {
    now: () => time,
    set: (to) => {
      time = to;
    },
    advance: (by) => {
      time += by;
    },
  };
}
