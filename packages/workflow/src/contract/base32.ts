const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/**
 * A whole number in Crockford Base32, without a check symbol: so many digits, most significant first,
 * zero-padded on the left. @see https://www.crockford.com/base32.html
 */
export function toBase32(value: number, length: number): string {
  let text = "";
  for (let rest = value; text.length < length; rest = (rest - (rest % 32)) / 32) {
    text = (digits[rest % 32] as string) + text;
  }
  return text;
}

/**
 * Whether a text has such digits only. It has no pattern: the first one that a process tests takes it 0.4 ms, and a worker
 * has its first step on the disk without any.
 */
export function isBase32(text: string): boolean {
  for (let n = 0; n < text.length; n += 1) if (!digits.includes(text[n] as string)) return false;
  return true;
}

/** The number that a text of such digits is. */
export function fromBase32(text: string): number {
  let value = 0;
  for (const digit of text) value = value * 32 + digits.indexOf(digit);
  return value;
}

/** A ULID of a time in milliseconds since the epoch, below 2 ** 48; `random` gives numbers from 0 to below 1. */
export function ulidOf(time: number, random: () => number): string {
  let text = "";
  while (text.length < 16) text = (digits[Math.floor(random() * 32)] as string) + text;
  return toBase32(time, 10) + text;
}

/** The time in a ULID, in milliseconds since the epoch: its first ten digits. */
export const ulidTime = (ulid: string): number => fromBase32(ulid.slice(0, 10));
