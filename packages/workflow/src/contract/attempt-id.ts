const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const timeDigits = 9;
const randomDigits = 4;
const randomRange = 32 ** randomDigits;

/**
 * Makes the ids of attempts: 9 digits of Crockford Base32 for the time in milliseconds, then 4 that begin
 * at random and rise within a millisecond, as ULIDs do. Ids of one source sort by the time of their making;
 * those of a thread and its forks, which several processes make, do not collide in practice.
 */
export function attemptIds(
  now: () => number = Date.now,
  random: () => number = Math.random,
): () => string {
  let lastTime = 0;
  let last = 0;
  return () => {
    const time = Math.max(Math.floor(now()), lastTime);
    last = time === lastTime ? last + 1 : Math.floor((random() * randomRange) / 2);
    lastTime = time;
    return encode(time, timeDigits) + encode(last % randomRange, randomDigits);
  };
}

/** When an attempt was opened, in milliseconds since the epoch, by its id; null for what is no id. */
export function attemptTime(id: string): number | null {
  if (!/^[0-9A-HJKMNP-TV-Z]{13}$/.test(id)) return null;
  let time = 0;
  for (const digit of id.slice(0, timeDigits)) time = time * 32 + digits.indexOf(digit);
  return time;
}

function encode(value: number, length: number): string {
  let text = "";
  for (let rest = value; text.length < length; rest = Math.floor(rest / 32)) {
    text = digits.charAt(rest % 32) + text;
  }
  return text;
}
