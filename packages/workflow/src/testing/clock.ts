/** A clock that does not advance until it is set, in milliseconds. */
export type TestClock = {
  now: () => number;
  set: (time: number) => void;
  advance: (by: number) => void;
};

/** Makes a clock that shows `start`; its `now` fits wherever `Date.now` does. */
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
