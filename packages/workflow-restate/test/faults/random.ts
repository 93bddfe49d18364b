/** Returns a generator of pseudorandom numbers (Mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export function pick<T>(all: readonly T[], random: () => number): T {
  const found = all[Math.floor(random() * all.length)];
  if (found === undefined) throw new RangeError("no items to choose from");
  return found;
}

/** Returns a thread id with the current time. */
export function newId(random: () => number): string {
  const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  const tail = Array.from({ length: 16 }, () => digits[Math.floor(random() * 32)]).join("");
  let time = "";
  for (let rest = Date.now(); time.length < 10; rest = Math.floor(rest / 32)) {
    time = `${digits[rest % 32]}${time}`;
  }
  return time + tail;
}
