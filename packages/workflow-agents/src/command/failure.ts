import { WorkflowError } from "@uncaged/workflow";
import type { ChildEnd } from "../child/child.ts";

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
