import type { Check } from "@uncaged/workflow/internal";
import type { Paint, Style } from "../output/style.ts";
import { oneLine, padded } from "../output/text.ts";
import type { Verified } from "./verified.ts";

const words: Record<Check["result"], [text: string, style: Style]> = {
  holds: ["holds", "green"],
  differs: ["does not hold", "red"],
  missing: ["missing", "red"],
  unknown: ["unknown", "yellow"],
};

/** Returns a line for each check: the part, the result, and the place and the problem. */
export function verifiedText({ checks, stated }: Verified, paint: Paint): string {
  const lines = checks.map(({ part, result, path, line, message }) => {
    const [word, style] = words[result];
    const place = path === undefined ? "" : `${path}${line === undefined ? "" : `:${line}`}`;
    const about = [place, message].filter(Boolean).join(": ");
    return `${padded(part, 10)} ${paint(style, padded(word, 13))} ${oneLine(about)}`.trimEnd();
  });
  if (stated) {
    const by = `${stated.engine} on ${stated.runtime}, ${stated.attestedAt}`;
    lines.push(`${padded("made by", 10)} ${padded("(stated)", 13)} ${oneLine(by)}`);
  }
  return lines.map((line) => `${line}\n`).join("");
}
