import { readJson } from "../../lib/json.ts";

/** The output of a step as a text. */
export function outputOf(json: string): string {
  const { value } = readJson(json);
  return typeof value === "string" ? value : json;
}
