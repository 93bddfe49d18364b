import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { checkWorkflowName, show, WorkflowError } from "@uncaged/workflow/host";
import { type OwnPackage, ownPackage } from "./own-package.ts";
import gitignore from "./template/gitignore.template" with { type: "text" };
import manifest from "./template/package.json.template" with { type: "text" };
import readme from "./template/README.md.template" with { type: "text" };
import tsconfig from "./template/tsconfig.json.template" with { type: "text" };
import workflow from "./template/workflow.ts.template" with { type: "text" };

const templates: Record<string, string> = {
  ".gitignore": gitignore,
  "README.md": readme,
  "package.json": manifest,
  "tsconfig.json": tsconfig,
  "workflow.ts": workflow,
};

/** A project that was made: its folder, the workflow's name, and the files in it. */
export type Project = { name: string; dir: string; files: string[] };

/**
 * Makes a project with a small workflow. It builds and type-checks at once: where this program's own
 * `@uncaged/workflow` is at hand the project's `node_modules` points to it.
 *
 * @throws WorkflowError `BAD_NAME`, `DIR_NOT_EMPTY`, `NOT_A_DIR` (usage); nothing is then written.
 */
export function makeProject(path: string, cwd: string, name?: string): Project {
  const dir = resolve(cwd, path);
  const checked = checkWorkflowName(name ?? basename(dir));
  refuseUsed(path, dir);
  const own = ownPackage();
  const values = { name: checked, package: checked.toLowerCase(), workflow: own.spec };
  mkdirSync(dir, { recursive: true, mode: 0o777 });
  for (const [file, template] of Object.entries(templates)) {
    writeFileSync(join(dir, file), filled(template, values), { flag: "wx", mode: 0o666 });
  }
  linkOwn(dir, own);
  return { name: checked, dir, files: Object.keys(templates) };
}

function refuseUsed(path: string, dir: string): void {
  let found: string[];
  try {
    found = readdirSync(dir);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT") return;
    if (code === "ENOTDIR") {
      throw refusal("NOT_A_DIR", `${show(path)} is a file, or lies in one`);
    }
    throw error;
  }
  if (found.length > 0) throw refusal("DIR_NOT_EMPTY", `${show(path)} is not empty`);
}

function refusal(code: string, message: string): WorkflowError {
  const hint = "name a folder that is empty or does not exist yet";
  return new WorkflowError({ code, kind: "usage", message, hint });
}

function filled(template: string, values: Record<string, string>): string {
  return template.replace(/\{\{(\w+)\}\}/g, (_all, key: string) => values[key] ?? "");
}

function linkOwn(dir: string, { folder }: OwnPackage): void {
  if (folder === null) return;
  const link = join(dir, "node_modules", "@uncaged", "workflow");
  mkdirSync(dirname(link), { recursive: true, mode: 0o777 });
  symlinkSync(folder, link, "dir");
}
