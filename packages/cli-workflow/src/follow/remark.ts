import { oneLine } from "../output/text.ts";
import { type Payload, textOf } from "./payload.ts";

const toldLevels = new Set(["warn", "error"]);

/** What an event says that is one line by itself, or null when it says nothing to a person. */
export function remarkOf(type: string, stepID: string, payload: Payload): string | null {
  const { name, message, level, path, value, condition, reason, timeoutAction } = payload;
  switch (type) {
    case "tool_message": {
      const loud = toldLevels.has(textOf(level)) ? `${textOf(level)}: ` : "";
      return oneLine(`${textOf(name)}: ${loud}${textOf(message)}`);
    }
    case "step_print":
      return oneLine(textOf(value));
    case "step_skipped":
      return oneLine(`skipped ${stepID}: ${textOf(condition)}`);
    case "file_done":
      return oneLine(`wrote ${textOf(path)} (${sizeText(payload.size_bytes)})`);
    case "pause_timeout":
      return oneLine(`nobody answered ${stepID} in time: on to ${textOf(timeoutAction)}`);
    case "pause_rejected":
      return oneLine(`an answer was refused: ${textOf(reason)}`);
    default:
      return null;
  }
}

function sizeText(bytes: unknown): string {
  if (typeof bytes !== "number" || !Number.isFinite(bytes)) return "size unknown";
  if (bytes < 1024) return `${bytes} bytes`;
  const inMega = bytes >= 1024 * 1024;
  return `${(bytes / (inMega ? 1024 * 1024 : 1024)).toFixed(1)} ${inMega ? "MB" : "KB"}`;
}
