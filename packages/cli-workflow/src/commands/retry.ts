import { retryOptions } from "@uncaged/workflow/host";
import {
  changesOf,
  type ForkOptions,
  limitOptions,
  maxRoundsOption,
  startOptions,
} from "../arguments/options.ts";
import { withName } from "../arguments/names.ts";
import { afterStart } from "../follow/started.ts";
import { defineCommand } from "../session/command.ts";

export default defineCommand({
  declare(command) {
    command.argument("<id>", "a thread that failed, was killed, or ran out of rounds; or @last");
    maxRoundsOption(command, "default: the thread's limit").option(
      "--on <workflow>",
      "continue on another version or workflow",
    );
    startOptions(limitOptions(command, "default: the thread's limit"));
  },
  examples: [
    "uncaged-workflow retry @last --follow",
    "uncaged-workflow retry @last --on review",
    "uncaged-workflow retry @last --max-cost 5",
  ],
  async run(session, options: ForkOptions, id: string) {
    const { host } = session;
    const ref = await host.find(id);
    const changes = await changesOf(session, options);
    const given = retryOptions(await host.read(ref), changes);
    const fork = () => host.fork(ref, given);
    const started = await withName(session, options.on ?? "", fork);
    return await afterStart(session, options, started);
  },
});
