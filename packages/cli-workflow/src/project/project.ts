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
import { codeOf } from "../output/output.ts";
import { ownFile } from "../session/own-command.ts";
import cli from "../../package.json" with { type: "json" };
import { jsonText, withEntries, withLines } from "./merge.ts";
import { corePackage, packagesFor } from "./packages.ts";
import { directoryNotEmpty, fileExists, nameTaken, notADirectory } from "./errors.ts";
import gitignore from "./template/gitignore.template" with { type: "text" };
import agentsFile from "./template/AGENTS.md.template" with { type: "text" };
import readme from "./template/README.md.template" with { type: "text" };
import tsconfig from "./template/tsconfig.json.template" with { type: "text" };
import agents from "./template/agents/workflow.ts.template" with { type: "text" };
import agentsModel from "./template/agents/model.ts.template" with { type: "text" };
import agentsReadme from "./template/agents/README.md.template" with { type: "text" };
import agentsTest from "./template/agents/workflow.test.ts.template" with { type: "text" };
import agentsTools from "./template/agents/tools.ts.template" with { type: "text" };
import graphReadme from "./template/graph/README.md.template" with { type: "text" };
import graphTest from "./template/graph/graph.test.ts.template" with { type: "text" };
import graph from "./template/graph/graph.json.template" with { type: "text" };
import stepsReadme from "./template/steps/README.md.template" with { type: "text" };
import flowTest from "./template/steps/flow.test.ts.template" with { type: "text" };
import flow from "./template/steps/flow.json.template" with { type: "text" };
import workflowTest from "./template/workflow.test.ts.template" with { type: "text" };
import workflow from "./template/workflow.ts.template" with { type: "text" };

/** A template's additions to the common files of a project. */
type Template = {
  source: string;
  text: string;
  /** The template's test file, for a project without a test runner. */
  test?: readonly [file: string, text: string];
  /** Texts of files to create unless they exist, by name. */
  files: Record<string, string>;
  /** Patterns for git to ignore, besides the common patterns. */
  ignored?: string;
  /** The packages of uncaged-workflow that the template needs, with their dependencies among these packages. */
  packages: readonly string[];
  /** Third-party packages that the template's source imports, with their versions. */
  imports?: Record<string, string>;
  /** Options of the first run. */
  options?: string;
};

const agentsPackage = "@uncaged/workflow-agents";

const templates = {
  typescript: {
    source: "workflow.ts",
    text: workflow,
    test: ["workflow.test.ts", workflowTest],
    files: { "README.md": readme },
    packages: [corePackage],
    options: "--prompt 'apples, pears'",
  },
  agents: {
    source: "workflow.ts",
    text: agents,
    test: ["workflow.test.ts", agentsTest],
    files: { "README.md": agentsReadme, "model.ts": agentsModel, "tools.ts": agentsTools },
    ignored: "ANSWER.md\n",
    // A scorer imports the types of evals.
    packages: [corePackage, agentsPackage, "@uncaged/workflow-evals"],
    imports: { zod: "^4.0.0" },
    options: "--prompt 'What is this?' --max-cost 0.50",
  },
  steps: {
    source: "flow.json",
    text: flow,
    test: ["flow.test.ts", flowTest],
    files: { "README.md": stepsReadme },
    ignored: ".tmp/\ngreetings.txt\n",
    packages: [corePackage, agentsPackage, "@uncaged/workflow-steps"],
  },
  graph: {
    source: "graph.json",
    text: graph,
    test: ["graph.test.ts", graphTest],
    files: { "README.md": graphReadme },
    packages: [corePackage, agentsPackage, "@uncaged/workflow-graph"],
  },
} satisfies Record<string, Template>;

export type TemplateName = keyof typeof templates;
export const templateNames = Object.keys(templates);

/** Returns the options for the first run of a template's workflow. */
export const firstOptions = (name: TemplateName = "typescript"): string =>
  (templates[name] as Template).options ?? "";

const manifest = "package.json";
const tsconfigFile = "tsconfig.json";
const projectFile = "uncaged.json";
const $schema = `./node_modules/${corePackage}/schema/project.schema.json`;

const compilers = { "@types/node": "^24.0.0", typescript: "^7.0.0" };
const testScript = "bun test";
/** The Bun version that this program depends on, so that npm installs only one copy. */
const testRunner = { "@types/bun": `^${cli.dependencies.bun}`, bun: cli.dependencies.bun };
/** The test script that `npm init` writes. */
const noTests = 'echo "Error: no test specified" && exit 1';

type Dependencies = Record<string, string>;
type Manifest = { scripts?: Record<string, string> } & Partial<
  Record<
    "dependencies" | "devDependencies" | "optionalDependencies" | "peerDependencies",
    Dependencies
  >
>;

/**
 * Options of a new project. `graph` is the text of an agent graph to start from. `command` has the words that call this
 * program in the project.
 */
type ProjectOptions = {
  name?: string;
  template?: TemplateName;
  graph?: string;
  command: string;
};

/**
 * Creates a project with a small workflow, or adds the workflow to the package or project in the folder. The project
 * builds at once: its `node_modules` links to this program and to the packages until npm installs them. An error
 * leaves the folder unchanged. `withUmask` runs the function that writes files.
 */
export async function createProject(
  path: string,
  cwd: string,
  options: ProjectOptions,
  withUmask: (write: () => void) => void,
) {
  const template: Template =
    options.graph === undefined
      ? templates[options.template ?? "typescript"]
      : { ...templates.graph, text: options.graph, test: undefined, files: {} };
  const dir = resolve(cwd, path);
  const name = checkWorkflowName(options.name ?? basename(dir));
  const there = namesIn(path, dir);
  refuseUsed(path, there, template.source);
  const read = (file: string) =>
    there.includes(file) ? readFileSync(join(dir, file), "utf8") : null;
  const foreign = Object.keys(template.imports ?? {});
  const packages = await packagesFor(dir, template.packages, foreign);
  const all = contentsOf(template, { ...options, name }, packages.dependencies, read);
  const contents = Object.entries(all).filter(([file, content]) => content !== read(file));
  const links = { ...packages.links, [join("node_modules/.bin", basename(ownFile()))]: ownFile() };
  withUmask(() => {
    mkdirSync(dir, { recursive: true, mode: 0o777 });
    for (const [file, content] of [...contents, ...Object.entries(packages.files)]) {
      mkdirSync(dirname(join(dir, file)), { recursive: true, mode: 0o777 });
      writeFileSync(join(dir, file), content, { mode: 0o666 });
    }
    for (const [link, target] of Object.entries(links)) linkTo(target, join(dir, link));
  });
  const [files, changed] = [false, true].map((isThere) =>
    contents.map(([file]) => file).filter((file) => there.includes(file) === isThere),
  ) as [string[], string[]];
  return { name, dir, files: [...files, ...Object.keys(packages.files)], changed };
}

/** Returns the content of each file of the project, by name. `read` returns the current content. */
function contentsOf(
  { source, text, test, files, ignored = "", imports }: Template,
  { name, command, graph: given }: ProjectOptions & { name: string },
  packages: Record<string, string>,
  read: (file: string) => string | null,
): Record<string, string> {
  const values: Record<string, string> = { name, command, source };
  const filled = (one: string) =>
    one.replace(/\{\{(\w+)\}\}/g, (_all, key: string) => values[key] ?? "");
  const before = read(manifest);
  const there = Object(before && readDocument(before, manifest).document) as Manifest;
  // Another test runner of the project would fail on the template's test.
  const runner = there.scripts?.test ?? noTests;
  const isTested = test === undefined || (runner !== noTests && !runner.startsWith(testScript));
  // A project with its own configuration gets a second configuration for the workflow's files.
  const isShared = ![null, tsconfig].includes(read(tsconfigFile));
  const config = isShared ? "tsconfig.workflow.json" : tsconfigFile;
  const others: Record<string, string> = { ...files, ...(!isTested && Object.fromEntries([test])) };
  const ours = [source, ...Object.keys(others)].filter((file) => file.endsWith(".ts"));
  const include = isShared ? ours : ["*.ts"];
  // TypeScript refuses a configuration without files.
  const isCompiled = ours.length > 0;
  const all = {
    "AGENTS.md": agentsFile,
    ...others,
    ...(isCompiled && {
      [config]: tsconfig.replace('["*.ts"]', `[${include.map((one) => show(one)).join(", ")}]`),
    }),
  };
  const kept = Object.entries(all).filter(([file]) => read(file) === null);
  const fields = { workflows: { [name]: source } };
  const listsThere = before !== null && "uncaged" in there;
  const base = { name: name.toLowerCase(), version: "0.1.0", private: true, type: "module" };
  const needed = {
    ...(isCompiled && compilers),
    ...(!isTested && testRunner),
    ...imports,
    ...packages,
  };
  const added = {
    scripts: {
      ...(isCompiled && { types: `tsc -p ${isShared ? config : "."}` }),
      ...(!isTested && { test: testScript }),
    },
    devDependencies: withoutListed(needed, there),
    // npm runs only confirmed install scripts.
    ...(!isTested && { allowScripts: { bun: true } }),
    ...(listsThere && { uncaged: fields }),
  };
  const project = read(projectFile);
  refuseListed(name, listsThere ? before : project, listsThere);
  return {
    ".gitignore": withLines(read(".gitignore") ?? "", gitignore + ignored),
    ...Object.fromEntries(kept.map(([file, content]) => [file, filled(content)])),
    [manifest]:
      before === null
        ? jsonText({ ...base, ...added })
        : withEntries(before.replace(show(noTests), show(testScript)), manifest, added),
    ...(!listsThere && {
      [projectFile]:
        project === null
          ? jsonText({ $schema, ...fields })
          : withEntries(project, projectFile, fields),
    }),
    // The braces of a graph are placeholders of its prompts.
    [source]: given ?? filled(text),
  };
}

/** Returns the dependencies that no field of a manifest lists. */
function withoutListed(needed: Dependencies, there: Manifest): Dependencies {
  const { dependencies, devDependencies, optionalDependencies, peerDependencies } = there;
  const listed = {
    ...dependencies,
    ...devDependencies,
    ...optionalDependencies,
    ...peerDependencies,
  };
  return Object.fromEntries(
    Object.entries(needed).filter(([name]) => !Object.hasOwn(listed, name)),
  );
}

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
    throw notADirectory(path, otherFolder);
  }
}

/** Files of a newly created repository, which don't prevent a folder from becoming a project. */
const harmless = /^(\.git|\.gitignore|README\.md|LICENSE)$/;

function refuseUsed(path: string, there: readonly string[], source: string): void {
  if (there.includes(source)) throw fileExists(join(path, source));
  const isOurs = there.includes(manifest) || there.includes(projectFile);
  if (isOurs || there.every((name) => harmless.test(name))) return;
  throw directoryNotEmpty(path, otherFolder);
}

function refuseListed(name: string, text: string | null, isManifest: boolean): void {
  const file = isManifest ? manifest : projectFile;
  const { document } = text === null ? { document: {} } : readDocument(text, file);
  const fields = isManifest ? (document as { uncaged?: unknown }).uncaged : document;
  const { workflows } = Object(fields) as { workflows?: unknown };
  if (Object.hasOwn(Object(workflows), name)) throw nameTaken(file, name);
}
