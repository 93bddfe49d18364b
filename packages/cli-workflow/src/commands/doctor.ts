import { examine, foldProblems } from "../doctor/doctor.ts";
import { count, oneLine } from "../output/text.ts";
import { defineCommand } from "../session/command.ts";
import { exitCodes } from "../output/exit-code.ts";

export default defineCommand({
  onCluster: { refused: "doctor examines this machine and a storage root" },
  examples: ["uncaged-workflow doctor", "uncaged-workflow doctor --json | jq .problems"],
  async run(session) {
    const problems = await examine(() => session.host, session.env);
    const ok = problems.length === 0;
    session.show({ ok, problems }, () => {
      if (ok) return `all is well: ${session.host.root}\n`;
      return foldProblems(problems)
        .map(({ message, hint }) => `${oneLine(message)}; ${session.paint("dim", oneLine(hint))}\n`)
        .join("");
    });
    if (!ok) session.note(count(problems.length, "problem"));
    return ok ? exitCodes.done : exitCodes.failed;
  },
});
