const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const timeDigits = 9;
const randomRange = 32 ** 4;

/** All pairs of digits: an id is made for every step, so it is put together from these. */
const pairs = /* @__PURE__ */ Array.from(
  { length: 1024 },
  (_, n) => digits.charAt(n >> 5) + digits.charAt(n & 31),
);

/**
 * Makes the ids of attempts: 9 digits of Crockford Base32 for the time in milliseconds, then 4 that begin
 * at random and rise within a millisecond, as ULIDs do. Ids of one source sort by the time of their making;
 * those of a thread and its forks, which several processes make, do not collide in practice.
 */
export function attemptIds(
  now: () => number = Date.now,
  random: () => number = Math.random,
): () => string {
  let time = -1;
  let prefix = "";
  let last = 0;
  return () => {
    const present = Math.floor(now());
    if (present > time) {
      time = present;
      prefix = timeText(time);
      last = Math.floor((random() * randomRange) / 2);
    } else last = (last + 1) % randomRange;
    return prefix + pairs[last >> 10] + pairs[last & 1023];
  };
}

/** When an attempt was opened, in milliseconds since the epoch, by its id; null for what is no id. */
export function attemptTime(id: string): number | null {
  if (!/^[0-9A-HJKMNP-TV-Z]{13}$/.test(id)) return null;
  let time = 0;
  for (const digit of id.slice(0, timeDigits)) time = time * 32 + digits.indexOf(digit);
  return time;
}

function timeText(time: number): string {
  let text = "";
  for (let rest = time; text.length < timeDigits; rest = Math.floor(rest / 32)) {
    text = digits.charAt(rest % 32) + text;
  }
  return text;
}
