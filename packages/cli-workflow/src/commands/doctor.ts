import type { Command } from "commander";
import { examine, foldProblems } from "../doctor/doctor.ts";
import { count, oneLine } from "../output/text.ts";
import { examples, type Perform } from "../session/command.ts";
import type { Session } from "../session/session.ts";

export function define(command: Command, perform: Perform): void {
  command.action(perform(doctor));
  examples(command, "uncaged-workflow doctor", "uncaged-workflow doctor --json | jq .problems");
}

async function doctor(session: Session): Promise<number> {
  const problems = await examine(() => session.host);
  const ok = problems.length === 0;
  session.show({ ok, problems }, () => {
    if (ok) return `all is well: ${session.host.root}\n`;
    return foldProblems(problems)
      .map(({ message, hint }) => `${oneLine(message)}; ${session.paint("dim", oneLine(hint))}\n`)
      .join("");
  });
  if (!ok) session.note(count(problems.length, "problem"));
  return ok ? 0 : 1;
}
