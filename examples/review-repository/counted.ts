/** Returns a noun with its count: `1 line`, `2 lines`. */
export const counted = (count: number, noun: string): string =>
  `${count} ${noun}${count === 1 ? "" : "s"}`;
