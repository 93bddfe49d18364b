import type { Recovered } from "@uncaged/workflow/host";
import { oneLine } from "./text.ts";

/** Returns the line for a thread that needs a person's decision, with the reason and the command. */
export const leftText = ({ threadId, workflow, reason }: Recovered["left"][number]): string =>
  `not resumed: ${threadId} of ${oneLine(workflow)}: ${oneLine(reason)}; resume it: uncaged-workflow resume ${threadId}`;

/** Prints the threads that resumed automatically, and the threads that need a person's decision. */
export function noteRecovered(
  session: { note: (text: string) => void },
  { resumed, left }: Recovered,
): void {
  for (const { threadId, workflow } of resumed) {
    session.note(`resumed ${threadId} of ${oneLine(workflow)}`);
  }
  for (const one of left) session.note(leftText(one));
}
