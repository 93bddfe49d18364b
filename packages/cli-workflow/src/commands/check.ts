import { type CheckOptions, checkStored, threadsOption } from "../arguments/checked.ts";
import { defineCommand } from "../session/command.ts";

export default defineCommand({
  declare: (command) =>
    threadsOption(
      command
        .argument("<name>", "the workflow whose threads are replayed")
        .requiredOption("--on <version>", "the version: a hash, name@hash or another name"),
    ),
  examples: [
    "uncaged-workflow check review --on C9NMV6V",
    "uncaged-workflow check review --on review@C9NMV6V --threads 20 --json",
  ],
  async run(session, { on, threads }: CheckOptions & { on: string }, name: string) {
    return await checkStored(session, name, on, { ...(threads && { threads }) });
  },
});
