import { jsonText } from "../contract/json.ts";
import type { Mask } from "../contract/mask.ts";
import type { Entry } from "./gathered.ts";

const longestLine = 256 * 1024;
const longestText = 32 * 1024;
const omitted = '{"_truncated":true}';

/** The lines that an entry becomes, without secrets. `number` gives an event its `seq`. Never throws. */
export function linesOf(entry: Entry, mask: Mask, number: () => number): string[] {
  switch (entry.kind) {
    case "line":
      return [plainLine(entry, mask)];
    case "event":
      return [eventLine(entry, entry.json, mask, number())];
    case "text":
      return pieces(mask(entry.text)).map((delta) =>
        eventLine(entry, jsonText({ delta }), mask, number()),
      );
  }
}

function plainLine({ tag, content, timestamp }: Extract<Entry, { kind: "line" }>, mask: Mask) {
  const line = jsonText({ tag, content: mask(content), timestamp });
  if (line.length <= longestLine) return `${line}\n`;
  return `${jsonText({ tag, content: mask(content).slice(0, 1000), timestamp })}\n`;
}

type EventEntry = Exclude<Entry, { kind: "line" }>;

function eventLine(
  { tag, timestamp, type, stepID, step, attempt }: EventEntry,
  payload: string,
  mask: Mask,
  seq: number,
): string {
  const name = mask(type).slice(0, 1000);
  const source = stepID === null ? null : mask(stepID).slice(0, 1000);
  const head = jsonText({ tag, content: name, timestamp, type: name, stepID: source });
  const tail = jsonText({ seq, step, attempt });
  const whole = payload.length <= longestLine - 4096 ? payload : omitted;
  return `${head.slice(0, -1)},"payload":${whole},${tail.slice(1)}\n`;
}

/** A text in pieces of a bounded length, no sign of it cut in two. */
function pieces(text: string): string[] {
  const found: string[] = [];
  for (let from = 0; from < text.length; ) {
    let end = from + longestText;
    if (end < text.length && isLeading(text.charCodeAt(end - 1))) end -= 1;
    found.push(text.slice(from, end));
    from = end;
  }
  return found;
}

const isLeading = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00;
