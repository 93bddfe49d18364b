const mostChars = 64;

/** Returns a document's name as one line without control characters; undefined without a name. */
export function shownName(name: unknown): string | undefined {
  if (typeof name !== "string") return undefined;
  const line = name
    .replace(/\p{C}+/gu, " ")
    .trim()
    .slice(0, mostChars)
    .toWellFormed();
  return line === "" ? undefined : line;
}
