/** What a text is as JSON, or why it is none, with the line. */
export type Read = { value: unknown; problem: null } | { value: null; problem: string };

/** Reads a text as JSON. Says where it breaks, for a person who typed it. */
export function readJson(text: string): Read {
  try {
    return { value: JSON.parse(text) as unknown, problem: null };
  } catch (error) {
    return { value: null, problem: problemOf(text, error) };
  }
}

/** As {@link readJson}, for what must be an object. */
export function readObject(text: string): Read {
  const read = readJson(text);
  if (read.problem !== null || isRecord(read.value)) return read;
  return { value: null, problem: "It must be an object: { … }" };
}

/** Whether a value is a JSON object. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

// Engines tell the place by its position, by its line and column, or not at all.
function problemOf(text: string, error: unknown): string {
  if (text.trim() === "") return "It is empty. JSON is expected.";
  const said = error instanceof Error ? error.message : "";
  const position = /position (\d+)/.exec(said)?.[1];
  const line = /line (\d+)/.exec(said)?.[1];
  if (line !== undefined) return `It is no JSON: see line ${line}.`;
  if (position === undefined) return "It is no JSON.";
  const before = text.slice(0, Number(position)).split("\n");
  return `It is no JSON: see line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}.`;
}
