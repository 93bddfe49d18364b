import type { Problem } from "@uncaged/workflow/host";
import { count, oneLine } from "../output/text.ts";
import { defineCommand } from "../session/command.ts";
import { exitCodes } from "../output/exit-code.ts";

export default defineCommand({
  examples: ["uncaged-workflow verify", "uncaged-workflow verify --json | jq .problems"],
  async run(session) {
    let done = 0;
    const spinner = session.spinner(() => [`${count(done, "file")} checked`]);
    const onProgress = () => {
      done += 1;
    };
    const found = await session.host.verify({ onProgress }).finally(() => spinner.stop());
    const { checked, problems, withoutSums } = found;
    session.show(found, () => problems.map(lineOf).join(""));
    const what = `${count(checked.bundles, "bundle")} and ${count(checked.threads, "thread")}`;
    if (withoutSums.length > 0) {
      const threads = count(withoutSums.length, "thread");
      session.note(
        `${threads} of an older version have no checksums: not all damage to them is found`,
      );
    }
    const ok = problems.length === 0;
    session.note(ok ? `${what} are sound` : `${count(problems.length, "problem")} in ${what}`);
    return ok ? exitCodes.done : exitCodes.failed;
  },
});

function lineOf({ path, line, offset, message }: Problem): string {
  const at = line === undefined ? "" : `:${line}`;
  const byte = offset === undefined ? "" : ` (at byte ${offset})`;
  return `${path}${at}: ${oneLine(message)}${byte}\n`;
}
