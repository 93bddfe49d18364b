import { Option } from "commander";
import type { RegisterOptions } from "@uncaged/workflow/host";
import { addFile } from "../arguments/added.ts";
import { type CheckOptions, checkFile, threadsOption } from "../arguments/checked.ts";
import { forEachListed, listedOne, listedWorkflows } from "../arguments/listed.ts";
import { defineCommand } from "../session/command.ts";
import { namedPlan, type StoredPlan, triggeredPlan } from "../plan/file.ts";
import { wrongUse } from "../session/errors.ts";
import type { Session } from "../session/session.ts";
import { exitCodes } from "../output/exit-code.ts";

const file =
  "a bundle (.esm.js), a source that is built first (.ts, .mts, .tsx), or a step workflow (.json, .yaml); a plan with a trigger must be confirmed";

type AddOptions = Pick<RegisterOptions, "types" | "sandbox">;
type Options = AddOptions & CheckOptions & { check?: boolean };

export default defineCommand({
  declare: (command) => {
    command
      .argument("[name]", "the workflow's name (default: all that the project lists)")
      .argument("[file]", `${file} (default: the file that the project lists)`)
      .option("--types <file>", "store this .d.ts file with the bundle")
      .addOption(
        new Option(
          "--sandbox <mode>",
          "load the bundle in bubblewrap to check it: never (off), if bubblewrap works (auto), or always (required)",
        )
          .choices(["off", "auto", "required"])
          .default("auto"),
      )
      .option(
        "--check",
        "only replay the workflow's threads on this version, and exit with 1 if a thread diverges",
      );
    threadsOption(command);
  },
  examples: [
    "uncaged-workflow add",
    "uncaged-workflow add review workflow.ts",
    "uncaged-workflow add review flow.json",
    "uncaged-workflow add review review.esm.js",
    "uncaged-workflow add review workflow.ts --check",
  ],
  async run(session, { check, sandbox, threads, types }: Options, given?: string, path?: string) {
    if (threads !== undefined && !check) throw wrongUse("--threads needs --check", checkHint);
    if (check && given === undefined) throw wrongUse("--check is for one workflow", checkHint);
    if (given !== undefined) {
      const { name, file: source } =
        path === undefined ? listedOne(session, given) : { name: given, file: path };
      if (check) return await checkFile(session, name, source, { sandbox, threads });
      const plan = await addPlan(session, name, source);
      if (plan) {
        session.show(plan, () => `${plan.workflow.id}\n`);
        return exitCodes.done;
      }
      const added = await add(session, name, source, { sandbox, types });
      session.show(added, () => `${added.hash}\n`);
      return exitCodes.done;
    }
    if (types !== undefined) {
      throw wrongUse("--types is for one workflow", "name it: uncaged-workflow add <name> <file>");
    }
    const listed = listedWorkflows(session);
    const { results, exitCode } = await forEachListed(session, listed, async (one) => {
      const plan = await addPlan(session, one.name, one.file);
      if (plan) {
        if (!session.json) session.write(`${plan.workflow.id}  ${one.name}\n`);
        return { name: one.name, ...plan };
      }
      const added = await add(session, one.name, one.file, { sandbox });
      if (!session.json) session.write(`${added.hash}  ${one.name}\n`);
      return added;
    });
    if (session.json) session.show(results, () => "");
    return exitCode;
  },
});

const checkHint = "name it: uncaged-workflow add <name> <file> --check";

/** Stores a plan with a trigger; the user must confirm the plan. Returns null for any other file. */
async function addPlan(session: Session, name: string, path: string): Promise<StoredPlan | null> {
  const text = await triggeredPlan(path);
  if (text === null) return null;
  const stored = await namedPlan(session, name, { text, file: path });
  const { id, phase } = stored.workflow;
  if (stored.state === "unchanged") session.note(`the plan ${name} already matches ${path}`);
  if (stored.state === "changed" || phase === "awaiting_confirmation")
    session.note(`the trigger fires after a confirmation: uncaged-workflow plan confirm ${id}`);
  return stored;
}

async function add(session: Session, name: string, path: string, options: AddOptions) {
  const added = await addFile(session, name, path, options);
  if (added.unchanged) session.note(`${name} is at this version already`);
  else session.note(`added ${name}; run it: uncaged-workflow run ${name}`);
  return added;
}
