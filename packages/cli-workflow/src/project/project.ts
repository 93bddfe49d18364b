import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { checkWorkflowName, show, WorkflowError } from "@uncaged/workflow/host";
import { codeOf } from "../output/output.ts";
import cli from "../../package.json" with { type: "json" };
import gitignore from "./template/gitignore.template" with { type: "text" };
import manifest from "./template/package.json.template" with { type: "text" };
import readme from "./template/README.md.template" with { type: "text" };
import tsconfig from "./template/tsconfig.json.template" with { type: "text" };
import stepsIgnore from "./template/steps/gitignore.template" with { type: "text" };
import stepsReadme from "./template/steps/README.md.template" with { type: "text" };
import flow from "./template/steps/flow.json.template" with { type: "text" };
import workflow from "./template/workflow.ts.template" with { type: "text" };

/** The kinds of projects; `link` is the package that one needs beside it before anything is installed. */
const templates = {
  typescript: {
    files: {
      ".gitignore": gitignore,
      "README.md": readme,
      "package.json": manifest,
      "tsconfig.json": tsconfig,
      "workflow.ts": workflow,
    },
    source: "workflow.ts",
    link: "@uncaged/workflow",
  },
  steps: {
    files: { ".gitignore": stepsIgnore, "README.md": stepsReadme, "flow.json": flow },
    source: "flow.json",
    link: "@uncaged/workflow-steps",
  },
} satisfies Record<string, { files: Record<string, string>; source: string; link: string }>;

export type TemplateName = keyof typeof templates;
export const templateNames = Object.keys(templates);

/**
 * Creates a project with a small workflow. It builds and type-checks at once: where this program has its
 * own copy of the package that it needs, the project's `node_modules` links to it.
 */
export function createProject(
  path: string,
  cwd: string,
  { name, template = "typescript" }: { name?: string; template?: TemplateName },
) {
  const { files, source, link } = templates[template];
  const dir = resolve(cwd, path);
  const checked = checkWorkflowName(name ?? basename(dir));
  refuseUsed(path, dir);
  const own = folderOf(link);
  // A copy that is not published (a checkout) can only be named by its folder.
  const isPublished = own === null || manifestIn(own)?.private !== true;
  const spec = isPublished ? `^${cli.version}` : `file:${own}`;
  const values: Record<string, string> = {
    name: checked,
    package: checked.toLowerCase(),
    workflow: spec,
  };
  mkdirSync(dir, { recursive: true, mode: 0o777 });
  for (const [file, text] of Object.entries(files)) {
    const filled = text.replace(/\{\{(\w+)\}\}/g, (_all, key: string) => values[key] ?? "");
    writeFileSync(join(dir, file), filled, { flag: "wx", mode: 0o666 });
  }
  if (own !== null) {
    const linked = join(dir, "node_modules", link);
    mkdirSync(dirname(linked), { recursive: true, mode: 0o777 });
    symlinkSync(own, linked, "dir");
  }
  return { name: checked, dir, files: Object.keys(files), source };
}

const otherFolder = "name a folder that is empty or does not exist yet";

function refuseUsed(path: string, dir: string): void {
  let found: string[];
  try {
    found = readdirSync(dir);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return;
    if (codeOf(error) !== "ENOTDIR") throw error;
    throw WorkflowError.usage("NOT_A_DIR", `${show(path)} is a file, or lies in one`, otherFolder);
  }
  if (found.length > 0) {
    throw WorkflowError.usage("DIR_NOT_EMPTY", `${show(path)} is not empty`, otherFolder);
  }
}

function folderOf(name: string): string | null {
  try {
    let folder = dirname(Bun.resolveSync(name, import.meta.dir));
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
    return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  } catch {
    return null;
  }
}
