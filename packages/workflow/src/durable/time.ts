import { type Duration, durationMs, latestTime } from "../contract/duration.ts";
import { shown } from "../contract/show.ts";
import { badSleep } from "./errors.ts";

/** Returns a function that returns the end of a sleep that starts now. @throws WorkflowError `BAD_SLEEP` (usage). */
export function sleepTime(time: Duration | Date): () => number {
  if (time instanceof Date) {
    const at = time.getTime();
    if (Number.isNaN(at)) throw badSleep("an invalid Date");
    return () => at;
  }
  const ms = durationMs(time);
  if (ms === null || Math.abs(ms) > latestTime / 2) throw badSleep(shown(time));
  return () => Date.now() + Math.ceil(ms);
}
