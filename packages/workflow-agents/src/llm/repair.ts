import { type AnswerCheck, mismatchNote } from "../run/form.ts";
import { currentRun, publish } from "../run/run.ts";
import type { Recorded } from "./recorded.ts";

/**
 * Returns the message after a last answer that does not fit, and records the message, so that every execution of the
 * step sends the same message. Returns null if the answer fits or the repairs are used up.
 */
export async function repairOf(
  form: AnswerCheck | undefined,
  recorded: Recorded,
  turn: number,
  text: string,
): Promise<string | null> {
  const known = recorded.repair(turn);
  if (known !== undefined) return known;
  if (!form || recorded.repairs >= form.repairs) return null;
  const problems = await form.problemsOf(text);
  if (problems.length === 0) return null;
  const message = form.again(problems);
  const note = { name: currentRun().stepID, level: "warn", data: null };
  publish("tool_message", { ...note, message: mismatchNote(problems) });
  await recorded.repaired(turn, message);
  return message;
}
