/** The one JSON document of a command: on a terminal laid out for reading, in a pipe on one line. */
export function jsonDocument(value: unknown, terminal: boolean): string {
  return `${JSON.stringify(value, null, terminal ? 2 : 0)}\n`;
}

/** One object of a stream, on a line of its own. */
export function jsonLine(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}
