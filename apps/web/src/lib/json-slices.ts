import { JSONParser } from "@streamparser/json";
import type { Sliced } from "./slices.ts";

/** Number of characters that are parsed or written at once. */
const piece = 16 * 1024;

/**
 * Parses JSON of any length in slices.
 * @throws SyntaxError if the text is not JSON.
 */
export function* parsing(text: string): Sliced<unknown> {
  if (text.length <= 4 * piece) return JSON.parse(text) as unknown;
  let value: unknown;
  const parser = new JSONParser({ paths: ["$"], stringBufferSize: piece });
  parser.onValue = (parsed) => {
    value = parsed.value;
  };
  try {
    for (let at = 0; at < text.length; at += piece) {
      parser.write(text.slice(at, at + piece));
      yield;
    }
    if (!parser.isEnded) parser.end();
  } catch (error) {
    throw new SyntaxError("Invalid JSON", { cause: error });
  }
  return value;
}

/** Maximum depth of containers that are written in slices. */
const deepest = 50;

/** Writes a value as JSON in slices. Short values are indented. */
export function* writing(value: unknown, depth = 0): Sliced<string> {
  const isWhole = typeof value !== "object" || value === null || depth > deepest;
  if (isWhole || !isMoreThan(value, piece)) return JSON.stringify(value, null, 2) ?? "undefined";
  const isList = Array.isArray(value);
  const members: string[] = [];
  for (const name in value) {
    const member = yield* writing((value as Record<string, unknown>)[name], depth + 1);
    members.push(isList ? member : `${JSON.stringify(name)}: ${member}`);
    yield;
  }
  return isList ? `[${members.join(",\n")}]` : `{${members.join(",\n")}}`;
}

/** Tells whether the JSON of a value has more than about `most` characters. Stops counting at that limit. */
export function isMoreThan(value: unknown, most: number): boolean {
  let left = most;
  const take = (one: unknown): boolean => {
    left -= typeof one === "string" ? one.length + 3 : 6;
    if (left < 0 || typeof one !== "object" || one === null) return left < 0;
    for (const name in one) {
      left -= Array.isArray(one) ? 0 : name.length + 3;
      if (take((one as Record<string, unknown>)[name])) return true;
    }
    return false;
  };
  try {
    return take(value);
  } catch (error) {
    // The value is nested too deeply to traverse. The caller shows that problem.
    if (error instanceof RangeError) return false;
    throw error;
  }
}
