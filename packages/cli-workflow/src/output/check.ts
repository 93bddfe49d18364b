import type { CheckedThread, VersionCheck } from "@uncaged/workflow/internal";
import type { Paint } from "./style.ts";
import { count, oneLine } from "./text.ts";

const verbs = {
  continues: "continue",
  diverges: "diverge",
  waits: "wait",
  ended: "ended",
} as const;

/** Returns the counts of a check, and each thread that diverges with its line. */
export function checkText({ threads }: VersionCheck, paint: Paint): string {
  const counts = (Object.keys(verbs) as (keyof typeof verbs)[]).flatMap((status) => {
    const { length } = threads.filter((one) => one.status === status);
    return length === 0 ? [] : `${length} ${verbs[status]}`;
  });
  const head = `${count(threads.length, "thread")}${counts.length > 0 ? `: ${counts.join(", ")}` : ""}\n`;
  const diverging = threads.filter(({ status }) => status === "diverges");
  return head + diverging.map((thread) => threadText(thread, paint)).join("");
}

function threadText({ threadId, at, line }: CheckedThread, paint: Paint): string {
  const { step, recorded, expected } = at ?? { step: 1, recorded: null, expected: null };
  const other = expected === null ? "not among its roles" : oneLine(expected);
  const sides = `recorded: ${oneLine(recorded ?? "nothing yet")}; this version: ${other}`;
  const where = line
    ? `    ${paint("dim", `${line.file}:${line.line}:${line.column}  ${oneLine(line.text ?? "")}`.trimEnd())}\n`
    : "";
  return `${paint("red", threadId)} diverges at step ${step}: ${sides}\n${where}`;
}
