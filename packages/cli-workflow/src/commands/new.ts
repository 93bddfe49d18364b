import type { Command } from "commander";
import { makeProject } from "../new/new.ts";
import { examples, type Perform } from "../program/command.ts";
import type { Session } from "../program/session.ts";

export function define(command: Command, perform: Perform): void {
  command
    .argument("<dir>", "the folder; it must be empty or not exist yet")
    .option("--name <name>", "the workflow's name (default: that of the folder)")
    .action(perform(create));
  examples(command, "uncaged-workflow new my-review", "uncaged-workflow new . --name review");
}

async function create(session: Session, options: { name?: string }, dir: string): Promise<void> {
  const project = session.withUsersUmask(() => makeProject(dir, session.cwd, options.name));
  const { name, files } = project;
  session.show(project, () => files.map((file) => `${project.dir}/${file}\n`).join(""));
  session.note(
    `next: cd ${dir} && uncaged-workflow add ${name} workflow.ts && ` +
      `uncaged-workflow run ${name} --prompt 'apples, pears' --follow`,
  );
}
