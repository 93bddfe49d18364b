const token = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/** Whether the text of a number is an integer that a number would write with other digits, or one that no number holds. */
export function isRounded(text: string): boolean {
  const number = Number(text);
  if (!Number.isFinite(number)) return true;
  if (Number.isSafeInteger(number) || !/^[-+]?\d+$/.test(text)) return false;
  return significant(text) !== significant(String(number));
}

/** The digits of an integer without the zeros at their ends. */
const significant = (text: string): string =>
  text
    .replace(/e.*$/, "")
    .replace(/\D/g, "")
    .replace(/^0+|0+$/g, "");

/** The first number of a JSON text that parsing would round, and its offset; null when there is none. */
export function roundedIn(json: string): { text: string; offset: number } | null {
  for (const { 0: text, index: offset } of json.matchAll(token)) {
    if (!text.startsWith('"') && isRounded(text)) return { text, offset };
  }
  return null;
}

/** A JSON text with the numbers that parsing would round as texts of their digits. */
export const withExactNumbers = (json: string): string =>
  json.replace(token, (text) => (!text.startsWith('"') && isRounded(text) ? `"${text}"` : text));
