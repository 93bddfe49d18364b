import type { Status } from "@uncaged/workflow/host";
import type { Style } from "./colour.ts";

const looks: Record<Status, { glyph: string; style: Style }> = {
  running: { glyph: "●", style: "cyan" },
  paused: { glyph: "‖", style: "yellow" },
  waiting: { glyph: "?", style: "yellow" },
  completed: { glyph: "✔", style: "green" },
  failed: { glyph: "✘", style: "red" },
  killed: { glyph: "■", style: "red" },
  interrupted: { glyph: "!", style: "yellow" },
  corrupt: { glyph: "✘", style: "magenta" },
};

/** A status with its glyph, or the word alone in a pipe. */
export function statusText(status: Status, terminal: boolean): string {
  return terminal ? `${looks[status].glyph} ${status}` : status;
}

/** The colour that a status is shown in. */
export const statusStyle = (status: Status): Style => looks[status].style;
