import { findThread, type ThreadRef } from "@uncaged/workflow/host";
import { errorEnvelope, errorText, exitCodeOf, recordOf } from "../program/failure.ts";
import type { Session } from "../program/session.ts";

/**
 * Does the same to each of several threads. One that can't be done does not stop the next: its error
 * is told, and the first error decides the exit code. With `--json` one id gives its object and
 * several an array, in which `{id, error}` stands for what failed.
 */
export async function forEachThread<Result>(
  session: Session,
  ids: string[],
  act: (ref: ThreadRef) => Promise<Result>,
  say: (result: Result) => string,
): Promise<number> {
  const [only, ...others] = ids;
  if (only !== undefined && others.length === 0) {
    const result = await act(await findThread(session.root, only));
    session.show(result, () => `${say(result)}\n`);
    return 0;
  }
  const results: unknown[] = [];
  let exitCode = 0;
  for (const id of ids) {
    try {
      const result = await act(await findThread(session.root, id));
      results.push(result);
      if (!session.json) session.write(`${say(result)}\n`);
    } catch (thrown) {
      const error = recordOf(thrown);
      if (error.code === "INTERNAL") throw thrown;
      results.push({ id, ...errorEnvelope(error) });
      if (!session.json) session.output.notes.write(errorText(error));
      exitCode ||= exitCodeOf(error);
    }
  }
  if (session.json) session.show(results, () => "");
  return exitCode;
}
