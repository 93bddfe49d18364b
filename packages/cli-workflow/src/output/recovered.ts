import type { Recovered } from "@uncaged/workflow/host";
import { oneLine } from "./text.ts";

/** A thread that is left to a person, why, and the command for it. */
export const leftText = ({ threadId, workflow, reason }: Recovered["left"][number]): string =>
  `not resumed: ${threadId} of ${oneLine(workflow)}: ${oneLine(reason)}; resume it: uncaged-workflow resume ${threadId}`;
