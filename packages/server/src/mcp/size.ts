/** Maximum size of a tool's structured result, in bytes. Clients cut longer results, or refuse them. */
export const mostBytes = 25_000;

const bytesOf = (text: string): number => Buffer.byteLength(JSON.stringify(text)) - 2;

/** Returns the bytes of a value as JSON. */
export const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? "");

/**
 * Returns the longest beginning of a text, from `offset`, that has at most `most` bytes as JSON. Never cuts a character
 * in two.
 */
export function headOf(text: string, most: number, offset = 0): string {
  // A UTF-16 unit has at least one byte.
  const head = text.slice(offset, offset + most);
  if (head.length + offset >= text.length && bytesOf(head) <= most) return head;
  let [low, high] = [0, head.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (bytesOf(head.slice(0, middle)) <= most) low = middle;
    else high = middle - 1;
  }
  return head.slice(0, low).replace(/[\ud800-\udbff]$/, "");
}

/** Returns a text with at most `most` bytes as JSON; a cut text ends with an ellipsis. */
export function clipped(text: string, most: number): string {
  const head = headOf(text, most);
  return head.length === text.length ? text : `${headOf(text, most - 3)}…`;
}
