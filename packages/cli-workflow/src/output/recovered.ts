import type { Recovered } from "@uncaged/workflow/host";
import { oneLine } from "./text.ts";

/** A thread that a person must decide on, the reason, and the command. */
export const leftText = ({ threadId, workflow, reason }: Recovered["left"][number]): string =>
  `not resumed: ${threadId} of ${oneLine(workflow)}: ${oneLine(reason)}; resume it: uncaged-workflow resume ${threadId}`;

/** Notes which threads were resumed automatically, and which a person must decide on. */
export function noteRecovered(
  session: { note: (text: string) => void },
  { resumed, left }: Recovered,
): void {
  for (const { threadId, workflow } of resumed) {
    session.note(`resumed ${threadId} of ${oneLine(workflow)}`);
  }
  for (const one of left) session.note(leftText(one));
}
