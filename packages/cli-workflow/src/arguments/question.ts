import { createInterface } from "node:readline/promises";
import type { Session } from "../session/session.ts";
import { notConfirmed } from "./errors.ts";

/**
 * Asks a yes/no question at the terminal. `yes` is the answer given on the command line.
 * @throws WorkflowError `NOT_CONFIRMED` (usage) without a terminal
 */
export async function isConfirmed(
  session: Session,
  question: string,
  yes = false,
): Promise<boolean> {
  if (yes) return true;
  if (session.json || !process.stdin.isTTY || !session.output.notes.terminal) {
    throw notConfirmed(question);
  }
  const asked = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await asked.question(`${question} [y/N] `, { signal: session.interruption() });
    return /^y(es)?$/i.test(answer.trim());
  } catch {
    return false;
  } finally {
    asked.close();
  }
}
