const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/**
 * Encodes a whole number in Crockford Base32 with `length` digits, most significant first, zero-padded on the left,
 * without a check symbol. @see https://www.crockford.com/base32.html
 */
export function toBase32(value: number, length: number): string {
  let text = "";
  for (let rest = value; text.length < length; rest = (rest - (rest % 32)) / 32) {
    text = (digits[rest % 32] as string) + text;
  }
  return text;
}

/** Returns whether a text consists of Crockford Base32 digits. */
export const isBase32 = (text: string): boolean => /^[0-9A-HJKMNP-TV-Z]*$/.test(text);

/** Decodes a number from Crockford Base32. */
export function fromBase32(text: string): number {
  let value = 0;
  for (const digit of text) value = value * 32 + digits.indexOf(digit);
  return value;
}

/** Returns the time of a ULID, its first ten digits, in milliseconds since the epoch. */
export const ulidTime = (ulid: string): number => fromBase32(ulid.slice(0, 10));
