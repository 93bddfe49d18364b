import type { Command } from "commander";
import { startSpinner } from "../output/spinner.ts";
import { count, oneLine } from "../output/text.ts";
import { examples, type Perform } from "../session/command.ts";
import type { Session } from "../session/session.ts";

type Problem = { path: string; line?: number; offset?: number; message: string };

export function define(command: Command, perform: Perform): void {
  command.action(perform(verify));
  examples(command, "uncaged-workflow verify", "uncaged-workflow verify --json | jq .problems");
}

async function verify(session: Session): Promise<number> {
  let done = 0;
  const dumb = session.env.TERM === "dumb" || session.json;
  const spinner = startSpinner(session.output.notes, dumb, () => [
    `${count(done, "file")} checked`,
  ]);
  const onProgress = () => {
    done += 1;
  };
  const found = await session.host.verify({ onProgress }).finally(() => spinner.stop());
  const { checked, problems } = found;
  session.show(found, () => problems.map((problem) => `${lineOf(problem)}\n`).join(""));
  const what = `${count(checked.bundles, "bundle")} and ${count(checked.threads, "thread")}`;
  session.note(
    problems.length === 0 ? `${what} are sound` : `${count(problems.length, "problem")} in ${what}`,
  );
  return problems.length === 0 ? 0 : 1;
}

function lineOf({ path, line, offset, message }: Problem): string {
  const at = line === undefined ? "" : `:${line}`;
  const byte = offset === undefined ? "" : ` (at byte ${offset})`;
  return `${path}${at}: ${oneLine(message)}${byte}`;
}
