import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { top } from "./test-files.ts";

/*
 * The packages that programs import, by folder, with their published entry points. `exports` of a package's manifest
 * names the file of each; an export that is missing here is for our own packages.
 */
const entryPoints = {
  workflow: [
    ".",
    "./document",
    "./host",
    "./internal",
    "./interpreter",
    "./records",
    "./sandbox",
    "./testing",
  ],
  "workflow-agents": [".", "./interpreter", "./ledger"],
  "workflow-steps": [".", "./adapters", "./source", "./threads"],
  "workflow-graph": [".", "./agents", "./document", "./run", "./source"],
  "workflow-plan": [".", "./source"],
  evals: ["."],
};

export type Published = keyof typeof entryPoints;

export type EntryPoint = {
  /** How it is imported, after the package's name: `.` or `./host`. */
  as: string;
  /** Its file below `src`, without an extension. */
  file: string;
};

export const published = Object.keys(entryPoints) as Published[];

export function entryPointsOf(name: Published): EntryPoint[] {
  const manifest = join(top, "packages", name, "package.json");
  const { exports } = JSON.parse(readFileSync(manifest, "utf8")) as {
    exports: Record<string, string>;
  };
  return entryPoints[name].map((as) => {
    const file = /^\.\/src\/(.*)\.ts$/.exec(exports[as] ?? "")?.[1];
    if (!file) throw new Error(`${manifest}: missing entry point "${as}" in "exports"`);
    return { as, file };
  });
}

/** The published `exports` of a package that is built file by file. */
export const exportsOf = (name: Published) =>
  Object.fromEntries(
    entryPointsOf(name).map(({ as, file }) => [
      as,
      { types: `./dist/${file}.d.ts`, default: `./dist/${file}.js` },
    ]),
  );

/** The published `exports` of a package whose JavaScript is bundled into one folder. */
export const bundledExportsOf = (name: Published) =>
  Object.fromEntries(
    entryPointsOf(name).map(({ as, file }) => [
      as,
      { types: `./dist/${file}.d.ts`, default: `./dist/${basename(file)}.js` },
    ]),
  );
