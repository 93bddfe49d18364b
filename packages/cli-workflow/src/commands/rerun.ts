import { movedError, terminalUser } from "@uncaged/workflow/internal";
import { withName } from "../arguments/names.ts";
import { changesOf, collect, type ForkOptions, forkOptions } from "../arguments/options.ts";
import { afterStart } from "../follow/started.ts";
import { defineCommand } from "../session/command.ts";
import { wrongUse } from "../session/errors.ts";
import type { Session } from "../session/session.ts";

type Options = ForkOptions & { fromStep?: string; set?: string[] };

export default defineCommand({
  declare(command) {
    command
      .argument("<id>", "a thread, or @last")
      .option(
        "--from-step <step>",
        "start at this step's last run; step#2: at its second run (default, with other params or another prompt: at the first step)",
      )
      .option(
        "--set <name=value>",
        "give a variable or a param another value, as JSON or text; may be repeated",
        collect,
      );
    forkOptions(command);
  },
  examples: [
    "uncaged-workflow rerun @last --params '{\"days\":3}' --follow",
    "uncaged-workflow rerun @last --from-step LLM_Write --follow",
    "uncaged-workflow rerun @last --from-step Write_Notes --set '$tone=\"dry\"' --set '$days=3'",
    "uncaged-workflow rerun @last --from-step LLM_Write#2",
    "uncaged-workflow rerun @last --from-step LLM_Write --on review",
  ],
  async run(session, options: Options, id: string) {
    const { host } = session;
    const { fromStep } = options;
    if (fromStep === undefined) return await startAgain(session, options, id);
    const { rerunInput } = await import("@uncaged/workflow-steps/threads");
    const { declaredParams, documentsIn, overridesOf, rerunStart } = await import(
      "../arguments/steps.ts"
    );
    const changes = await changesOf(session, options);
    const ref = await host.find(id);
    const { on } = changes;
    const { hash } =
      on === undefined ? ref : await withName(session, on, async () => await host.resolve(on));
    const { document } = await documentsIn(host, hash);
    const { steps, movedTo } = await host.read(ref);
    if (movedTo !== undefined) throw movedError(ref.threadId, movedTo);
    const ids = document.steps.map((step) => step.id);
    const { stepID, kept, path } = rerunStart(fromStep, ids, steps);
    const overrides = {
      ...declaredParams(changes.params, document),
      ...overridesOf(options.set ?? [], document),
    };
    // Another version may lack this path.
    const at = on === undefined && path !== null ? { path } : {};
    const rerun = { ...rerunInput({ stepID, overrides, ...at }), by: terminalUser() };
    const started = await host.fork(ref, { ...changes, keep: { atStep: kept }, rerun });
    return await afterStart(session, options, started);
  },
});

/** Starts a thread again from its first step. */
async function startAgain(session: Session, options: Options, id: string): Promise<number> {
  const { params, prompt, promptFile, set } = options;
  const isChanged = params !== undefined || prompt !== undefined || promptFile !== undefined;
  if (set || !isChanged) {
    const hint = "name a step to start at, or give other params to start again from the first step";
    throw wrongUse(`${set ? "--set needs" : "give"} --from-step <step>`, hint);
  }
  const changes = await changesOf(session, options);
  const ref = await session.host.find(id);
  const fork = () => session.host.fork(ref, { ...changes, keep: { atStep: 0 } });
  return await afterStart(session, options, await withName(session, options.on ?? "", fork));
}
