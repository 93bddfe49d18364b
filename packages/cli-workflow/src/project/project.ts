import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { readDocument } from "@uncaged/workflow/document";
import { checkWorkflowName, show } from "@uncaged/workflow/internal";
import { WorkflowError } from "@uncaged/workflow/host";
import { codeOf } from "../output/output.ts";
import { ownFile, shellWord } from "../session/own-command.ts";
import cli from "../../package.json" with { type: "json" };
import { jsonText, withEntries, withLines } from "./merge.ts";
import gitignore from "./template/gitignore.template" with { type: "text" };
import readme from "./template/README.md.template" with { type: "text" };
import tsconfig from "./template/tsconfig.json.template" with { type: "text" };
import agents from "./template/agents/workflow.ts.template" with { type: "text" };
import agentsModel from "./template/agents/model.ts.template" with { type: "text" };
import agentsReadme from "./template/agents/README.md.template" with { type: "text" };
import agentsTools from "./template/agents/tools.ts.template" with { type: "text" };
import graphReadme from "./template/graph/README.md.template" with { type: "text" };
import graph from "./template/graph/graph.json.template" with { type: "text" };
import stepsReadme from "./template/steps/README.md.template" with { type: "text" };
import flow from "./template/steps/flow.json.template" with { type: "text" };
import workflow from "./template/workflow.ts.template" with { type: "text" };

/** What a project of a kind has besides what all have. `link` is the package that it needs to be built or edited. */
type Template = {
  source: string;
  text: string;
  /** Files that stay as they are where they are there already. */
  files: Record<string, string>;
  /** What git is to leave out besides what it leaves out of every project. */
  ignored?: string;
  link: string;
  /** What its source imports of others' packages, with their versions. */
  imports?: Record<string, string>;
  compiler?: Record<string, string>;
  /** What it is run with for the first time. */
  options?: string;
};

const compiled = {
  source: "workflow.ts",
  compiler: { "@types/node": "^24.0.0", typescript: "^7.0.0" },
};

const templates = {
  typescript: {
    ...compiled,
    text: workflow,
    files: { "README.md": readme, "tsconfig.json": tsconfig },
    link: "@uncaged/workflow",
    options: "--prompt 'apples, pears'",
  },
  agents: {
    ...compiled,
    text: agents,
    files: {
      ...{ "README.md": agentsReadme, "tsconfig.json": tsconfig },
      ...{ "model.ts": agentsModel, "tools.ts": agentsTools },
    },
    ignored: "ANSWER.md\n",
    link: "@uncaged/workflow-agents",
    imports: { zod: "^4.0.0" },
    options: "--prompt 'What is this?' --max-cost 0.50",
  },
  steps: {
    source: "flow.json",
    text: flow,
    files: { "README.md": stepsReadme },
    ignored: ".tmp/\ngreetings.txt\n",
    link: "@uncaged/workflow-steps",
  },
  graph: {
    source: "graph.json",
    text: graph,
    files: { "README.md": graphReadme },
    link: "@uncaged/workflow-graph",
  },
} satisfies Record<string, Template>;

export type TemplateName = keyof typeof templates;
export const templateNames = Object.keys(templates);

/** The options that a template's workflow is run with for the first time. */
export const firstOptions = (name: TemplateName = "typescript"): string =>
  (templates[name] as Template).options ?? "";

const manifest = "package.json";
const tsconfigFile = "tsconfig.json";
const projectFile = "uncaged.json";
const core = "@uncaged/workflow";
const $schema = `./node_modules/${core}/schema/project.schema.json`;

/** What is made of a template: `command` are the words that call this program there. */
type ProjectOptions = { name?: string; template?: TemplateName; command: string };

/**
 * Creates a project with a small workflow, or adds the workflow to the package or project that is in the folder. It
 * builds and type-checks at once: the project's `node_modules` links to this program and to its own copy of the
 * package that the workflow needs. Nothing is written when anything is refused.
 */
export function createProject(path: string, cwd: string, options: ProjectOptions) {
  const template: Template = templates[options.template ?? "typescript"];
  const dir = resolve(cwd, path);
  const name = checkWorkflowName(options.name ?? basename(dir));
  const there = namesIn(path, dir);
  refuseUsed(path, there, template.source);
  const own = folderOf(template.link);
  const read = (file: string) =>
    there.includes(file) ? readFileSync(join(dir, file), "utf8") : null;
  const links = linksOf(template, own);
  const all = contentsOf(template, { ...options, name }, { own, links }, read);
  const contents = Object.entries(all).filter(([file, content]) => content !== read(file));
  mkdirSync(dir, { recursive: true, mode: 0o777 });
  for (const [file, content] of contents) {
    writeFileSync(join(dir, file), content, { mode: 0o666 });
  }
  for (const [link, target] of Object.entries(links)) linkTo(target, join(dir, link));
  const [files, changed] = [false, true].map((isThere) =>
    contents.map(([file]) => file).filter((file) => there.includes(file) === isThere),
  ) as [string[], string[]];
  return { name, dir, files, changed };
}

/** What a project's `node_modules` links to, until its packages are installed. */
function linksOf({ link, imports = {} }: Template, own: string | null): Record<string, string> {
  const links: Record<string, string> = {};
  const foreign = Object.keys(imports);
  for (const name of new Set([link, core, ...foreign])) {
    const folder = folderOf(name, foreign.includes(name) ? own : import.meta.dir);
    if (folder !== null) links[join("node_modules", name)] = folder;
  }
  // The sources of a checkout are checked with the project's, and use Bun's types.
  const bunTypes = join(own ?? "", "../../node_modules/bun-types");
  if (!isPublished(own) && existsSync(bunTypes)) links["node_modules/@types/bun"] = bunTypes;
  links[join("node_modules/.bin", basename(ownFile()))] = ownFile();
  return links;
}

/** What each file of the project is to have, by its name; `read` gives what it has. */
function contentsOf(
  { source, text, files, ignored = "", link, imports, compiler }: Template,
  { name, command }: ProjectOptions & { name: string },
  { own, links }: { own: string | null; links: Record<string, string> },
  read: (file: string) => string | null,
): Record<string, string> {
  const values: Record<string, string> = { name, command };
  const filled = (given: string) =>
    given.replace(/\{\{(\w+)\}\}/g, (_all, key: string) => values[key] ?? "");
  // A project that has a configuration of its own gets one for the workflow's files beside it.
  const { [tsconfigFile]: settings, ...others } = files;
  const config = read(tsconfigFile) === null ? tsconfigFile : "tsconfig.workflow.json";
  const ours = [source, ...Object.keys(others).filter((file) => file.endsWith(".ts"))];
  const include = config === tsconfigFile ? ["*.ts"] : [...ours, "*.test.ts"];
  const all = {
    ...others,
    ...(settings && {
      [config]: settings.replace('["*.ts"]', `[${include.map((one) => show(one)).join(", ")}]`),
    }),
  };
  const types = config === tsconfigFile ? "tsc -p ." : `tsc -p ${config}`;
  const scripts = {
    ...(settings && { types }),
    ...(!isPublished(own) && { prepare: linkingScript(links, imports) }),
  };
  const kept = Object.entries(all).filter(([file]) => read(file) === null);
  const fields = { workflows: { [name]: source } };
  const before = read(manifest);
  const listsThere =
    before !== null && "uncaged" in Object(readDocument(before, manifest).document);
  const base = { name: name.toLowerCase(), version: "0.1.0", private: true, type: "module" };
  const added = {
    ...(Object.keys(scripts).length > 0 && { scripts }),
    devDependencies: { ...compiler, ...imports, ...packagesOf(link, own) },
    ...(listsThere && { uncaged: fields }),
  };
  const project = read(projectFile);
  refuseListed(name, listsThere ? before : project, listsThere);
  return {
    ".gitignore": withLines(read(".gitignore") ?? "", gitignore + ignored),
    ...Object.fromEntries(kept.map(([file, given]) => [file, filled(given)])),
    [manifest]:
      before === null ? jsonText({ ...base, ...added }) : withEntries(before, manifest, added),
    ...(!listsThere && {
      [projectFile]:
        project === null
          ? jsonText({ $schema, ...fields })
          : withEntries(project, projectFile, fields),
    }),
    [source]: filled(text),
  };
}

/** Whether this program runs as it is published, and not from a checkout. */
const isPublished = (own: string | null): boolean =>
  own === null || manifestIn(own)?.private !== true;

/** Our packages as npm gets them; those of a checkout are linked: npm can't install its `workspace:` dependencies. */
function packagesOf(link: string, own: string | null): Record<string, string> {
  if (!isPublished(own)) return {};
  return { [link]: `^${cli.version}`, "uncaged-workflow": `^${cli.version}` };
}

/** What brings back the links to a checkout, which `npm install` removes. */
const linkingScript = (links: Record<string, string>, installed: object = {}): string =>
  Object.entries(links)
    .filter(([path]) => !Object.hasOwn(installed, path.replace("node_modules/", "")))
    .map(([path, target]) => `mkdir -p ${dirname(path)} && ln -sfn ${shellWord(target)} ${path}`)
    .join(" && ");

function linkTo(target: string, path: string): void {
  if (existsSync(path)) return;
  mkdirSync(dirname(path), { recursive: true, mode: 0o777 });
  symlinkSync(target, path);
}

const otherFolder = "name a folder that is empty, does not exist yet, or has a package.json";

function namesIn(path: string, dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    if (codeOf(error) !== "ENOTDIR") throw error;
    throw WorkflowError.usage("NOT_A_DIR", `${show(path)} is a file, or lies in one`, otherFolder);
  }
}

/** What a folder may have that is to become a project: a repository that was just made. */
const harmless = /^(\.git|\.gitignore|README\.md|LICENSE)$/;

function refuseUsed(path: string, there: readonly string[], source: string): void {
  if (there.includes(source)) {
    const message = `${show(join(path, source))} is there already`;
    throw WorkflowError.usage("FILE_EXISTS", message, "move it, or name another folder");
  }
  const isOurs = there.includes(manifest) || there.includes(projectFile);
  if (isOurs || there.every((name) => harmless.test(name))) return;
  throw WorkflowError.usage("DIR_NOT_EMPTY", `${show(path)} is not empty`, otherFolder);
}

function refuseListed(name: string, text: string | null, isManifest: boolean): void {
  const file = isManifest ? manifest : projectFile;
  const { document } = text === null ? { document: {} } : readDocument(text, file);
  const fields = isManifest ? (document as { uncaged?: unknown }).uncaged : document;
  const { workflows } = Object(fields) as { workflows?: unknown };
  if (!Object.hasOwn(Object(workflows), name)) return;
  const message = `${file} lists a workflow ${show(name)} already`;
  throw WorkflowError.usage("NAME_TAKEN", message, "give it another name: --name");
}

function folderOf(name: string, from: string | null = import.meta.dir): string | null {
  if (from === null) return null;
  try {
    let folder = dirname(Bun.resolveSync(name, from));
    while (manifestIn(folder)?.name !== name) {
      if (dirname(folder) === folder) return null;
      folder = dirname(folder);
    }
    return folder;
  } catch {
    return null;
  }
}

function manifestIn(folder: string): { name?: string; private?: boolean } | null {
  try {
    return JSON.parse(readFileSync(join(folder, manifest), "utf8"));
  } catch {
    return null;
  }
}
