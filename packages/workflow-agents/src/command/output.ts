import { StringDecoder } from "node:string_decoder";
import type { WorkflowError } from "@uncaged/workflow";
import type { ChildEnd } from "../child/child.ts";
import { Lines } from "../child/output.ts";
import { failure, oneLine } from "../run/error.ts";
import type { LineReader } from "./reader.ts";
import type { CommandReport } from "./report.ts";

const longestLine = 64 * 1024 * 1024;

/** What becomes of a command's output. `stray` is the last line that was no JSON. */
export type OutputSink = { add: (chunk: Uint8Array) => void; end: () => void; stray: () => string };

/** Takes all output for the answer. */
export function readText(maxOutput: number, report: CommandReport): OutputSink {
  const decoder = new StringDecoder("utf8");
  const pieces: string[] = [];
  let length = 0;
  const take = (delta: string): void => {
    length += delta.length;
    if (length > maxOutput) throw tooMuch(maxOutput);
    pieces.push(delta);
    report.add({ kind: "text", delta });
  };
  return {
    add: (chunk) => take(decoder.write(Buffer.from(chunk))),
    end: () => {
      take(decoder.end());
      report.add({ kind: "result", text: pieces.join("") });
    },
    stray: () => "",
  };
}

/** Has a reader understand each line. */
export function readLines(reader: LineReader, report: CommandReport): OutputSink {
  const read = reader();
  let stray = "";
  const takeLine = (line: string): void => {
    if (line.trim() === "") return;
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      stray = line;
      return report.note("warn", line);
    }
    for (const output of read(value)) report.add(output);
  };
  const lines = new Lines(longestLine, takeLine, () => {
    throw tooMuch(longestLine);
  });
  return { add: (chunk) => lines.add(chunk), end: () => lines.end(), stray: () => stray };
}

/** Lines of the error output: each is reported while they are few, and the last one kept. */
export function lastLine(onLine: (line: string) => void): { lines: Lines; last: () => string } {
  let last = "";
  let count = 0;
  const take = (line: string): void => {
    if (line.trim() === "") return;
    last = line;
    if (++count <= 1000) onLine(line);
  };
  return { lines: new Lines(64 * 1024, take, () => undefined), last: () => last };
}

const tooMuch = (most: number): WorkflowError =>
  failure(
    "COMMAND_SAID_TOO_MUCH",
    `the command put out more than ${most} characters, and was ended`,
    "have it put out less, or raise maxOutput",
  );

/** What a command left: `reported` is the failure that it reported, `last` its last line of errors. */
type Remains = { timeoutMs: number; reported: string | null; last: string; text: string };

/** The error that a command's end amounts to; null when it ended well and answered. */
export function failureOf(name: string, end: ChildEnd, remains: Remains): WorkflowError | null {
  const { timeoutMs, reported, last, text } = remains;
  const command = `the command ${JSON.stringify(name)}`;
  const why = oneLine(reported ?? last, 500);
  const because = why === "" ? "" : `: ${why}`;
  if (end.by === "timeout") {
    const message = `${command} was ended after ${timeoutMs} ms${because}`;
    const hint = "retry the thread, or give it a longer timeoutMs";
    return failure("COMMAND_TIMEOUT", message, hint);
  }
  if (end.exitCode !== 0 || reported !== null) {
    const how = end.signal ? `was ended by ${end.signal}` : `failed with exit code ${end.exitCode}`;
    const what = end.exitCode === 0 ? "failed" : how;
    const hint = "see the thread's events, fix the cause, and retry the thread";
    return failure("COMMAND_FAILED", `${command} ${what}${because}`, hint);
  }
  if (text !== "") return null;
  const hint = "run it by hand in the thread's directory to see what it does";
  return failure("COMMAND_SAID_NOTHING", `${command} gave no answer${because}`, hint);
}
