import { Option } from "commander";
import { readText } from "../arguments/values.ts";
import {
  createProject,
  firstOptions,
  type TemplateName,
  templateNames,
} from "../project/project.ts";
import { defineCommand } from "../session/command.ts";
import { badOption } from "../session/errors.ts";
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
      .option("--name <name>", "the workflow's name (default: the folder's name)")
      .addOption(template)
      .option(
        "--from <file>",
        "make an agent graph from an export: TypeScript of Agent Builder, or JSON of a Flowise AgentFlow",
      ),
  examples: [
    "uncaged-workflow new my-review",
    "uncaged-workflow new . --name review",
    "uncaged-workflow new my-team --template agents",
    "uncaged-workflow new my-flow --template steps",
    "uncaged-workflow new my-support --from workflow.ts",
  ],
  async run(session, options: Options, dir: string) {
    const { from, ...given } = options;
    if (from !== undefined && given.template !== undefined)
      throw badOption("--template", given.template, "--from makes an agent graph");
    const command = ownCommand(session.env);
    const { graph, left } = from === undefined ? noImport : await importFile(from);
    const project = await createProject(dir, session.cwd, { ...given, graph, command }, (write) =>
      session.withUsersUmask(write),
    );
    for (const { at, message } of left) session.note(`not imported: ${from}, ${at}: ${message}`);
    const { name, files, changed } = project;
    session.show({ ...project, command, ...(from !== undefined && { left }) }, () =>
      files.map((file) => `${project.dir}/${file}\n`).join(""),
    );
    if (changed.length > 0) session.note(`added to ${changed.join(", ")}`);
    const first = from === undefined ? firstOptions(options.template) : "--prompt '…'";
    const go = dir === "." ? "" : `cd ${shellWord(dir)} && `;
    session.note(
      `next: ${go}${command} add && ${command} run ${name}${first && ` ${first}`} --follow`,
    );
    session.note("before npm test and npm run types: npm install");
  },
});

type Options = { name?: string; template?: TemplateName; from?: string };

const noImport = { graph: undefined, left: [] };

/** Converts another program's export to the text of an agent graph. */
async function importFile(file: string) {
  const { importGraph } = await import("@uncaged/workflow-graph/import");
  const { document, left } = importGraph(await readText(file, "--from"), file);
  return { graph: `${JSON.stringify(document, null, 2)}\n`, left };
}
