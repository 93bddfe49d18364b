import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { top } from "./test-files.ts";

/*
 * Packages that programs import, by folder, with their published entry points. The `exports` of a package's manifest
 * give the file of each entry point. Exports that are missing here are internal.
 */
const entryPoints = {
  workflow: [
    ".",
    "./client",
    "./document",
    "./host",
    "./internal",
    "./interpreter",
    "./records",
    "./sandbox",
    "./testing",
  ],
  "workflow-agents": [
    ".",
    "./ai-sdk",
    "./interpreter",
    "./ledger",
    "./openai-agents",
    "./openai-agents/auto",
  ],
  "workflow-steps": [".", "./adapters", "./source", "./threads"],
  "workflow-graph": [".", "./agents", "./document", "./run", "./source"],
  "workflow-plan": [".", "./source"],
  evals: ["."],
};

export type Published = keyof typeof entryPoints;

export type EntryPoint = {
  /** Import path after the package's name: `.` or `./host`. */
  as: string;
  /** File below `src`, without extension. */
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

/** Returns the published `exports` of a package that is built file by file. */
export const exportsOf = (name: Published) =>
  Object.fromEntries(
    entryPointsOf(name).map(({ as, file }) => [
      as,
      { types: `./dist/${file}.d.ts`, default: `./dist/${file}.js` },
    ]),
  );

/** Returns the published `exports` of a package whose JavaScript is bundled into one folder. */
export const bundledExportsOf = (name: Published) =>
  Object.fromEntries(
    entryPointsOf(name).map(({ as, file }) => [
      as,
      { types: `./dist/${file}.d.ts`, default: `./dist/${basename(file)}.js` },
    ]),
  );
