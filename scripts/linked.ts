import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, join, relative } from "node:path";
import { emitDeclarations, manifestOf, nameJavaScript } from "./declarations.ts";
import { entryPointsOf, type Published, published } from "./published.ts";
import { top } from "./test-files.ts";

/*
 * Builds the packages that a project of this checkout installs into `.pack/linked`, unless they are newer than the
 * sources:
 *
 *     bun scripts/linked.ts
 *
 * `install/<name>` runs the sources but has built declarations, because a project's compiler must not check the sources
 * with the project's settings. It has no dependencies, so any package manager can install and keep the folder.
 * `packages` has the declarations. Entry points refer to both by absolute path, because some package managers copy the
 * folder.
 */
const linked = join(top, ".pack/linked");

function isFresh(): boolean {
  if (!existsSync(linked)) return false;
  const made = statSync(linked).mtimeMs;
  const inputs = new Bun.Glob("packages/*/{package.json,src,schema}/**").scanSync({
    cwd: top,
    onlyFiles: false,
  });
  const manifests = published.map((name) => join("packages", name, "package.json"));
  return [...inputs, ...manifests].every((path) => statSync(join(top, path)).mtimeMs <= made);
}

function writePackage(work: string, name: Published): void {
  const source = join(top, "packages", name);
  const manifest = manifestOf(name);
  const folder = join(work, "install", manifest.name);
  mkdirSync(folder, { recursive: true });
  const exports: Record<string, unknown> = {};
  for (const { as, file } of entryPointsOf(name)) {
    const own = basename(file);
    const all = (path: string) => `export * from ${JSON.stringify(path)};\n`;
    writeFileSync(join(folder, `${own}.js`), all(join(source, "src", `${file}.ts`)));
    const declarations = join(linked, "packages", name, "src", `${file}.js`);
    writeFileSync(join(folder, `${own}.d.ts`), all(declarations));
    exports[as] = { types: `./${own}.d.ts`, default: `./${own}.js` };
  }
  for (const [as, path] of Object.entries(manifest.exports)) {
    if (as.endsWith(".json")) exports[as] = path;
  }
  if (existsSync(join(source, "schema"))) {
    cpSync(join(source, "schema"), join(folder, "schema"), { recursive: true });
  }
  writeManifest(folder, {
    ...{ name: manifest.name, version: manifest.version, private: true, type: "module" },
    ...{ sideEffects: manifest.sideEffects ?? false, exports },
  });
}

/** Writes the package with the command's name. */
function writeCommand(work: string): void {
  const name = "uncaged-workflow";
  const folder = join(work, "install", name);
  const program = join(top, "packages/cli-workflow/bin", name);
  const word = `'${program.replaceAll("'", "'\\''")}'`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), `#!/bin/sh\nexec ${word} "$@"\n`);
  chmodSync(join(folder, name), 0o755);
  const { version } = manifestOf("workflow");
  writeManifest(folder, { name, version, private: true, bin: { [name]: `./${name}` } });
}

const writeManifest = (folder: string, manifest: object): void =>
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);

/** Builds the packages in a temporary folder, so that no project sees an incomplete package. */
function make(): void {
  mkdirSync(join(top, ".pack"), { recursive: true });
  const work = mkdtempSync(join(top, ".pack/linking-"));
  try {
    emitDeclarations(work);
    nameJavaScript(join(work, "packages"));
    for (const name of published) writePackage(work, name);
    writeCommand(work);
    chmodSync(work, 0o755);
    const old = `${work}.old`;
    if (existsSync(linked)) renameSync(linked, old);
    renameSync(work, linked);
    rmSync(old, { recursive: true, force: true });
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

if (!isFresh()) make();
console.log(relative(process.cwd(), join(linked, "install")));
