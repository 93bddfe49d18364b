import { isRecord } from "../contract/show.ts";
import type { StartRecord } from "./record.ts";

/** Maximum length of a subject, in characters. */
const mostChars = 200;
/** Number of characters that are searched for a first line. */
const mostLooked = 16_384;

const ansi = /\u001b\[[0-?]*[ -/]*[@-~]/g;
const lineEnd = /[\n\v\f\r\u0085\u2028\u2029]/;
/** Control characters, characters that change the writing direction, and invisible spaces. */
const unseen = /[\p{Cc}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/gu;

/** Returns the first line of a text that is not empty, without control and bidi characters. */
export function firstLine(text: string): string {
  const lines = text.trimStart().slice(0, mostLooked).replace(ansi, "").split(lineEnd);
  for (const line of lines) {
    const clean = line.replace(/\t/g, " ").replace(unseen, "").trim();
    if (clean !== "") return short(clean);
  }
  return "";
}

function short(text: string): string {
  const whole = text.toWellFormed();
  if (whole.length <= mostChars) return whole;
  return `${whole.slice(0, mostChars - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** The fields of a start record that determine the subject. */
type Started = Pick<StartRecord, "name"> & {
  parameters: Pick<StartRecord["parameters"], "prompt" | "params">;
};

/** Returns the subject of a thread: its prompt's first line, else its params, else its workflow's name. */
export function subjectOf({ name, parameters }: Started): string {
  return firstLine(parameters.prompt) || paramsLine(parameters.params) || firstLine(name);
}

function paramsLine(params: unknown): string {
  if (params === undefined || params === null) return "";
  if (!isRecord(params)) return oneLine(params);
  let line = "";
  for (const [key, value] of Object.entries(params)) {
    line += `${line === "" ? "" : ", "}${key}: ${oneLine(value)}`;
    if (line.length > mostChars) break;
  }
  return firstLine(line);
}

const oneLine = (value: unknown): string =>
  typeof value === "string" ? firstLine(value) : firstLine(JSON.stringify(value) ?? "");
