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

/** Whether a text has such digits only. */
export const isBase32 = (text: string): boolean => /^[0-9A-HJKMNP-TV-Z]*$/.test(text);

/** The number that a text of such digits is. */
export function fromBase32(text: string): number {
  let value = 0;
  for (const digit of text) value = value * 32 + digits.indexOf(digit);
  return value;
}

/** The time in a ULID, in milliseconds since the epoch: its first ten digits. */
export const ulidTime = (ulid: string): number => fromBase32(ulid.slice(0, 10));
