import { Option } from "commander";
import {
  createProject,
  firstOptions,
  type TemplateName,
  templateNames,
} from "../project/project.ts";
import { defineCommand } from "../session/command.ts";
import { ownCommand, shellWord } from "../session/own-command.ts";

const template = new Option(
  "--template <template>",
  "a TypeScript workflow (default), a team of agents, a step workflow or an agent graph in JSON",
).choices(templateNames);

export default defineCommand({
  onCluster: "unused",
  declare: (command) =>
    command
      .argument("<dir>", "the folder: empty, missing, or with a package.json")
      .option("--name <name>", "the workflow's name (default: that of the folder)")
      .addOption(template),
  examples: [
    "uncaged-workflow new my-review",
    "uncaged-workflow new . --name review",
    "uncaged-workflow new my-team --template agents",
    "uncaged-workflow new my-flow --template steps",
  ],
  async run(session, options: { name?: string; template?: TemplateName }, dir: string) {
    const command = ownCommand(session.env);
    const project = await createProject(dir, session.cwd, { ...options, command }, (write) =>
      session.withUsersUmask(write),
    );
    const { name, files, changed } = project;
    session.show({ ...project, command }, () =>
      files.map((file) => `${project.dir}/${file}\n`).join(""),
    );
    if (changed.length > 0) session.note(`added to ${changed.join(", ")}`);
    const given = firstOptions(options.template);
    const go = dir === "." ? "" : `cd ${shellWord(dir)} && `;
    session.note(
      `next: ${go}${command} add && ${command} run ${name}${given && ` ${given}`} --follow`,
    );
    session.note("before npm test and npm run types: npm install");
  },
});
