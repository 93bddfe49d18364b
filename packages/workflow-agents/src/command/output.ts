import { StringDecoder } from "node:string_decoder";
import type { WorkflowError } from "@uncaged/workflow";
import { Lines } from "../child/lines.ts";
import { commandError } from "./failure.ts";
import type { Report } from "./report.ts";
import type { LineReader } from "./said.ts";

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
