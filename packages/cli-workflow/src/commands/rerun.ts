import { movedError, terminalUser } from "@uncaged/workflow/host";
import { withName } from "../arguments/names.ts";
import { changesOf, collect, type ForkOptions, forkOptions } from "../arguments/options.ts";
import { afterStart } from "../follow/started.ts";
import { defineCommand } from "../session/command.ts";

type Options = ForkOptions & { fromStep: string; set?: string[] };

export default defineCommand({
  declare(command) {
    command
      .argument("<id>", "a thread of a step workflow, or @last")
      .requiredOption("--from-step <step>", "start at this step's last run; step#2: at its second")
      .option(
        "--set <name=value>",
        "give a variable or a param another value, as JSON or text; may be repeated",
        collect,
      );
    forkOptions(command);
  },
  examples: [
    "uncaged-workflow rerun @last --from-step LLM_Write --follow",
    "uncaged-workflow rerun @last --from-step Write_Notes --set '$tone=\"dry\"' --set '$days=3'",
    "uncaged-workflow rerun @last --from-step LLM_Write#2",
    "uncaged-workflow rerun @last --from-step LLM_Write --on review",
  ],
  async run(session, options: Options, id: string) {
    const { host } = session;
    const { rerunInput } = await import("@uncaged/workflow-steps/threads");
    const { documentsIn, overridesOf, rerunStart } = await import("../arguments/steps.ts");
    const changes = await changesOf(session, options);
    const ref = await host.find(id);
    const { on } = changes;
    const { hash } =
      on === undefined ? ref : await withName(session, on, async () => await host.resolve(on));
    const { document } = await documentsIn(host, hash);
    const { steps, movedTo } = await host.read(ref);
    if (movedTo !== undefined) throw movedError(ref.threadId, movedTo);
    const ids = document.steps.map((step) => step.id);
    const { stepID, kept, path } = rerunStart(options.fromStep, ids, steps);
    const overrides = overridesOf(options.set ?? [], document);
    // Another version may have no such path.
    const at = on === undefined && path !== null ? { path } : {};
    const input = { ...rerunInput({ stepID, overrides, ...at }), by: terminalUser() };
    const started = await host.fork(ref, { ...changes, keep: { atStep: kept }, input });
    return await afterStart(session, options, started);
  },
});
