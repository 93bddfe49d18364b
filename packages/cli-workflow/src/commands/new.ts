import { type Command, Option } from "commander";
import { createProject, type TemplateName, templateNames } from "../project/project.ts";
import { examples, type Perform } from "../session/command.ts";
import type { Session } from "../session/session.ts";

export function define(command: Command, perform: Perform): void {
  command
    .argument("<dir>", "the folder; it must be empty or not exist yet")
    .option("--name <name>", "the workflow's name (default: that of the folder)")
    .addOption(
      new Option(
        "--template <template>",
        "a TypeScript workflow (default), or a step workflow in JSON",
      ).choices([...templateNames]),
    )
    .action(perform(create));
  examples(
    command,
    "uncaged-workflow new my-review",
    "uncaged-workflow new . --name review",
    "uncaged-workflow new my-flow --template steps",
  );
}

type Options = { name?: string; template?: TemplateName };

async function create(session: Session, options: Options, dir: string): Promise<void> {
  const { source, ...project } = session.withUsersUmask(() =>
    createProject(dir, session.cwd, options),
  );
  const { name, files } = project;
  session.show(project, () => files.map((file) => `${project.dir}/${file}\n`).join(""));
  const given = options.template === "steps" ? "" : "--prompt 'apples, pears' ";
  session.note(
    `next: cd ${dir} && uncaged-workflow add ${name} ${source} && ` +
      `uncaged-workflow run ${name} ${given}--follow`,
  );
}
