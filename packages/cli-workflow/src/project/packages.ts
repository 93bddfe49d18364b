import { readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import cli from "../../package.json" with { type: "json" };

export const corePackage = "@uncaged/workflow";
const commandPackage = "uncaged-workflow";

/** The source of the packages that a project's files import. */
export type ProjectPackages = {
  /** The packages of uncaged-workflow, for the dependencies of the project's manifest. */
  dependencies: Record<string, string>;
  /** Targets of links in `node_modules`, by path. npm later replaces the links with packages. */
  links: Record<string, string>;
  /** Files for the installation, by path. */
  files: Record<string, Uint8Array>;
};

/**
 * Determines how a project in a folder gets the packages of uncaged-workflow, and other packages by name. A program
 * installed from a registry names versions. Other programs can't, because a registry may not have these versions: a
 * checkout names folders with built declarations, a program installed from tarballs names the tarballs, and a standalone
 * binary contains tarballs.
 */
export async function packagesFor(
  dir: string,
  ours: readonly string[],
  others: readonly string[],
): Promise<ProjectPackages> {
  if (Bun.isStandaloneExecutable) return await carried(ours);
  const core = folderOf(corePackage, import.meta.dir);
  const isCheckout = core !== null && manifestIn(core)?.private === true;
  if (isCheckout) return linkedTo(join(core, "../.."), { dir, ours, others });
  const versions = Object.fromEntries(
    [...ours, commandPackage].map((name) => [name, `^${cli.version}`]),
  );
  const from = core ?? import.meta.dir;
  const links = linksOf(ours, (name) => folderOf(name, from));
  const nearest = ours.map((name) => folderOf(name, from)).findLast((folder) => folder !== null);
  return {
    dependencies: { ...versions, ...tarballsOf(from, dir) },
    links: { ...links, ...linksOf(others, (name) => folderOf(name, nearest ?? from)) },
    files: {},
  };
}

type Wanted = { dir: string; ours: readonly string[]; others: readonly string[] };

/** Returns the packages of a checkout, and rebuilds packages that are older than their sources. */
function linkedTo(top: string, { dir, ours, others }: Wanted): ProjectPackages {
  const made = Bun.spawnSync([process.execPath, join(top, "scripts/linked.ts")], { cwd: top });
  if (made.exitCode !== 0) throw new Error(made.stderr.toString().trim());
  const folder = join(top, made.stdout.toString().trim());
  const names = [...ours, commandPackage];
  const inFolder = (name: string) => join(folder, name);
  const agents = join(top, "packages/workflow-agents");
  return {
    dependencies: Object.fromEntries(
      names.map((name) => [name, `file:${relative(dir, inFolder(name))}`]),
    ),
    links: {
      ...linksOf(names, inFolder),
      ...linksOf(others, (name) => folderOf(name, agents)),
      // The tests are type-checked before npm has installed Bun's types.
      "node_modules/@types/bun": join(top, "node_modules/bun-types"),
    },
    files: {},
  };
}

/**
 * Returns the tarballs in a standalone binary. Omits the package of the command, because the binary is the command.
 */
async function carried(ours: readonly string[]): Promise<ProjectPackages> {
  const path = fileURLToPath(new URL("./packages.tar", import.meta.url));
  const archive = new Bun.Archive(readFileSync(path));
  const packages: ProjectPackages = { dependencies: {}, links: {}, files: {} };
  const files = await archive.files();
  for (const name of ours) {
    const file = files.get(`${name}.tgz`);
    if (!file) throw new Error(`missing ${name}.tgz in ${path}`);
    const own = `vendor/${basename(name)}-${cli.version}.tgz`;
    packages.files[own] = await file.bytes();
    packages.dependencies[name] = `file:${own}`;
  }
  return packages;
}

/**
 * Returns the packages of uncaged-workflow in the manifest that installed this program, if the manifest names tarballs.
 * A project needs all of them, because they depend on each other.
 */
function tarballsOf(from: string, dir: string): Record<string, string> {
  const [folder = ""] = from.split("/node_modules/");
  const { dependencies, devDependencies } = manifestIn(folder) ?? {};
  const found: Record<string, string> = {};
  for (const [name, spec] of Object.entries({ ...dependencies, ...devDependencies })) {
    const path = /^file:(.*)$/.exec(spec)?.[1];
    if (path === undefined || !isOurs(name)) continue;
    found[name] = `file:${relative(dir, resolve(folder, path))}`;
  }
  return found;
}

const isOurs = (name: string): boolean => /^(@uncaged\/|uncaged-workflow$)/.test(name);

function linksOf(
  names: readonly string[],
  targetOf: (name: string) => string | null,
): Record<string, string> {
  const links: Record<string, string> = {};
  for (const name of names) {
    const target = targetOf(name);
    if (target !== null) links[join("node_modules", name)] = target;
  }
  return links;
}

/** Returns the folder of an installed package. */
function folderOf(name: string, from: string): string | null {
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

type Manifest = {
  name?: string;
  private?: boolean;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
};

function manifestIn(folder: string): Manifest | null {
  try {
    return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  } catch {
    return null;
  }
}
