import { Option } from "commander";
import { createProject, type TemplateName, templateNames } from "../project/project.ts";
import { defineCommand } from "../session/command.ts";

const template = new Option(
  "--template <template>",
  "a TypeScript workflow (default), or a step workflow in JSON",
).choices(templateNames);

export default defineCommand({
  declare: (command) =>
    command
      .argument("<dir>", "the folder; it must be empty or not exist yet")
      .option("--name <name>", "the workflow's name (default: that of the folder)")
      .addOption(template),
  examples: [
    "uncaged-workflow new my-review",
    "uncaged-workflow new . --name review",
    "uncaged-workflow new my-flow --template steps",
  ],
  async run(session, options: { name?: string; template?: TemplateName }, dir: string) {
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
  },
});
