import { type AttemptError, errorParts } from "@uncaged/workflow/records";
import type { Look } from "./style.ts";
import { hanging, plain, truncate } from "./text.ts";

const shownFrames = 5;
const labels = { thrown: "", cause: "caused by ", part: "one of them: " };

/**
 * Returns an error for people: its message, the source line that threw it with the lines around it, the call stack, and
 * its causes.
 */
export function thrownText(thrown: AttemptError, look: Look & { full: boolean }): string {
  let isFirst = true;
  return errorParts(thrown)
    .map(({ relation, depth, error }) => {
      const isWhole = look.full || isFirst;
      if (error.at) isFirst = false;
      const { name, message, code } = error;
      const known = code === undefined || message.includes(code) ? "" : ` (${code})`;
      const head = look.paint("red", plain(`${labels[relation]}${name}: ${message}${known}`));
      const lines = [
        head,
        positionText(error, look, isWhole),
        isWhole ? callsText(error, look) : "",
      ];
      return hanging(`${lines.filter(Boolean).join("\n")}\n`, depth * 2);
    })
    .join("");
}

/** Returns the position and text of the source line that threw, on one line; null if unknown. */
export function positionLine(thrown: AttemptError): string | null {
  const at = errorParts(thrown).find(({ error }) => error.at)?.error.at;
  return at === undefined
    ? null
    : plain(`at ${at.file}:${at.line}:${at.column}  ${at.text ?? ""}`).trim();
}

function positionText({ at }: AttemptError, { paint, columns }: Look, isWhole: boolean): string {
  if (!at) return "";
  const { file, line, column, text = "", frame } = at;
  const position = plain(`${file}:${line}:${column}`);
  if (!isWhole || !frame) return `  ${paint("cyan", position)}${text && `  ${plain(text)}`}`;
  const width = String(frame.from + frame.lines.length - 1).length;
  const rows = frame.lines.flatMap((source, n) => {
    const number = frame.from + n;
    const isIt = number === line;
    const row = `  ${isIt ? ">" : " "} ${String(number).padStart(width)} | ${plain(source)}`;
    const shown = truncate(row.trimEnd(), columns);
    if (!isIt) return [paint("dim", shown)];
    const before = plain(source.slice(0, column - 1)).replace(/[^\t]/g, " ");
    const caret = `    ${" ".repeat(width)} | ${before}^`;
    return caret.length > columns ? [shown] : [shown, paint("dim", caret)];
  });
  return [`  ${paint("cyan", position)}`, ...rows].join("\n");
}

function callsText(
  { stack = "" }: AttemptError,
  { paint, full }: Look & { full: boolean },
): string {
  const calls = stack.split("\n").filter((line) => /^\s+at /.test(line));
  const shown = full ? calls : calls.slice(0, shownFrames);
  const hidden = calls.length - shown.length;
  const more = hidden > 0 ? [`… ${hidden} more (--full)`] : [];
  return [...shown.map((line) => plain(line.trim())), ...more]
    .map((line) => `  ${paint("dim", line)}`)
    .join("\n");
}
