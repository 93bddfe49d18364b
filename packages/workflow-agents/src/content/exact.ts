const token = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/**
 * Parses JSON in which integers that a number would round stay exact: each becomes what `long` makes of its digits.
 *
 * @throws SyntaxError
 */
export function parseExact(text: string, long: (digits: string) => unknown): unknown {
  const value: unknown = JSON.parse(text);
  if (!/\d{16}/.test(text)) return value;
  const found: string[] = [];
  const mark = crypto.randomUUID();
  const marked = text.replace(token, (one) =>
    isRounded(one) ? `"${mark}${found.push(one) - 1}"` : one,
  );
  if (found.length === 0) return value;
  return JSON.parse(marked, (_, one: unknown) => {
    if (typeof one !== "string" || !one.startsWith(mark)) return one;
    return long(found[Number(one.slice(mark.length))] ?? "");
  });
}

/** The integers of a JSON text that a number would round, in order. */
export function longIntegers(text: string): string[] {
  const found: string[] = [];
  try {
    parseExact(text, (digits) => found.push(digits));
  } catch {
    return [];
  }
  return found;
}

/** The integers anywhere in a text that a number would round. */
export const roundedIn = (text: string): string[] =>
  [...new Set(text.match(/-?\d{16,}/g))].filter(isRounded).slice(0, 5);

/** An integer as `JSON.stringify` writes it exactly; rounded where the runtime can't. */
export const rawInteger = (digits: string): unknown => rawJson?.(digits) ?? Number(digits);

const { rawJSON: rawJson } = JSON as unknown as { rawJSON?: (digits: string) => unknown };

function isRounded(one: string): boolean {
  if (!/^-?\d{16,}$/.test(one)) return false;
  const number = Number(one);
  if (!Number.isFinite(number)) return true;
  return String(number) !== one && BigInt(number) !== BigInt(one);
}
