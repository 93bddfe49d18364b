import { StringDecoder } from "node:string_decoder";
import { WorkflowError } from "@uncaged/workflow";
import type { ChildEnd } from "../child/child.ts";
import { Lines } from "../child/output.ts";
import type { LineReader } from "./reader.ts";
import type { Report } from "./report.ts";

const longestLine = 64 * 1024 * 1024;

/** What becomes of a command's output. `stray` is the last line that was no JSON. */
export type Output = { add: (chunk: Uint8Array) => void; end: () => void; stray: () => string };

/** Takes all output for the answer. */
export function readText(maxOutput: number, report: Report): Output {
  const decoder = new StringDecoder("utf8");
  const pieces: string[] = [];
  let length = 0;
  const take = (delta: string): void => {
    length += delta.length;
    if (length > maxOutput) throw tooMuch(maxOutput);
    pieces.push(delta);
    report.hear({ kind: "text", delta });
  };
  return {
    add: (chunk) => take(decoder.write(Buffer.from(chunk))),
    end: () => {
      take(decoder.end());
      report.hear({ kind: "result", text: pieces.join("") });
    },
    stray: () => "",
  };
}

/** Has a reader understand each line. */
export function readLines(reader: LineReader, report: Report): Output {
  const read = reader();
  let stray = "";
  const hearLine = (line: string): void => {
    if (line.trim() === "") return;
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      stray = line;
      return report.note("warn", line);
    }
    for (const said of read(value)) report.hear(said);
  };
  const lines = new Lines(longestLine, hearLine, () => {
    throw tooMuch(longestLine);
  });
  return { add: (chunk) => lines.add(chunk), end: () => lines.end(), stray: () => stray };
}

/** Lines of the error output: each is told while they are few, and the last one kept. */
export function lastLine(tell: (line: string) => void): { lines: Lines; last: () => string } {
  let last = "";
  let count = 0;
  const take = (line: string): void => {
    if (line.trim() === "") return;
    last = line;
    if (++count <= 1000) tell(line);
  };
  return { lines: new Lines(64 * 1024, take, () => undefined), last: () => last };
}

const tooMuch = (most: number): WorkflowError =>
  commandError(
    "COMMAND_SAID_TOO_MUCH",
    `the command said more than ${most} characters, and was ended`,
    "have it say less, or raise maxOutput",
  );

/** What a command left behind; `told` is the failure that it told of, `last` its last line of errors. */
export type Remains = { timeoutMs: number; told: string | null; last: string; text: string };

/** The error that a command's end is; null when it ended well and said something. */
export function failureOf(name: string, end: ChildEnd, remains: Remains): WorkflowError | null {
  const { timeoutMs, told, last, text } = remains;
  const command = `the command ${JSON.stringify(name)}`;
  const why = told ?? last;
  const because = why === "" ? "" : `: ${shortened(why)}`;
  if (end.by === "timeout") {
    const message = `${command} was ended after ${timeoutMs} ms${because}`;
    return commandError(
      "COMMAND_TIMEOUT",
      message,
      "retry the thread, or give it a longer timeoutMs",
    );
  }
  const how =
    end.signal !== null ? `was ended by ${end.signal}` : `failed with exit code ${end.exitCode}`;
  if (end.exitCode !== 0 || told !== null) {
    const what = end.exitCode === 0 ? "failed" : how;
    const hint = "see the thread's events, mend what it says, and retry the thread";
    return commandError("COMMAND_FAILED", `${command} ${what}${because}`, hint);
  }
  if (text !== "") return null;
  const hint = "run it by hand in the thread's directory to see what it does";
  return commandError("COMMAND_SAID_NOTHING", `${command} gave no answer${because}`, hint);
}

const shortened = (text: string): string => {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > 500 ? `${line.slice(0, 500)}…` : line;
};

/** An error of a command agent. */
export const commandError = (code: string, message: string, hint: string): WorkflowError =>
  new WorkflowError({ code, kind: "failed", message, hint });
