import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/* Builds the published TypeScript as JavaScript: the core's entry points, and the programs of further processes. */
const top = fileURLToPath(new URL("..", import.meta.url));
const core = join(top, "packages/workflow/src");
const cli = join(top, "packages/cli-workflow");

/**
 * Entry files of processes, by their built names. Each built file is in the same folder as the file that starts the
 * process.
 */
const processes = {
  worker: "worker/main.ts",
  "inspect-child": "bundle/inspect-child.ts",
  "build-child": "bundle/build-child.ts",
  "chaos-child": "chaos/chaos-child.ts",
  "replay-child": "upgrade/replay-child.ts",
};

type Entry = { source: string; as: string };

/** Replaces the UMD main file of jsonc-parser by its ES module, because the bundler can't follow UMD imports. */
const wholeParser: Bun.BunPlugin = {
  name: "whole-parser",
  setup: (builder) => {
    builder.onResolve({ filter: /^jsonc-parser$/ }, ({ resolveDir }) => ({
      path: Bun.resolveSync("jsonc-parser/lib/esm/main.js", resolveDir),
    }));
  },
};

/** Builds entries into a flat folder and returns their inputs. Lazy imports stay separate files. */
export async function build(
  entries: Entry[],
  dist: string,
  options: { readable: boolean; target?: Bun.Target },
): Promise<string[]> {
  const [only] = entries;
  const single = entries.length === 1 && only;
  const { success, logs, metafile } = await Bun.build({
    entrypoints: entries.map(({ source }) => source),
    outdir: dist,
    naming: { entry: single ? `${single.as}.[ext]` : "[name].[ext]", chunk: "chunk-[hash].[ext]" },
    target: options.target ?? (options.readable ? "node" : "bun"),
    format: "esm",
    splitting: true,
    minify: options.readable ? false : { whitespace: true, syntax: true },
    external: ["bun"],
    plugins: [wholeParser],
    metafile: true,
    throw: false,
  });
  if (!success) throw new Error(logs.map(String).join("\n"));
  return Object.keys(metafile?.inputs ?? {});
}

async function buildEach(sources: Record<string, string>, dist: string): Promise<string[]> {
  const inputs: string[] = [];
  for (const [as, source] of Object.entries(sources)) {
    inputs.push(...(await build([{ source, as }], dist, { readable: false })));
  }
  return inputs;
}

/** Builds the programs of the core's processes into a folder and returns their inputs. */
export const buildProcesses = (dist: string): Promise<string[]> =>
  buildEach(
    Object.fromEntries(Object.entries(processes).map(([as, file]) => [as, join(core, file)])),
    dist,
  );

/** Builds the command line and the programs that it starts into a folder, and returns their inputs. */
export async function buildCommand(dist: string): Promise<string[]> {
  const main = await buildEach({ main: join(cli, "src/main.ts") }, dist);
  return [...main, ...(await buildProcesses(dist))];
}

/** Folder of the Restate server's packages, if the server is installed. */
const restate = "node_modules/@restatedev";

/**
 * Builds a package of the command line for the tests, which start it thousands of times: a built command starts faster.
 * Its folder is inside the source package, so that it finds the dependencies and the cluster's server. Returns the
 * folder.
 */
export async function makeTestedCommand(): Promise<string> {
  mkdirSync(join(cli, "dist"), { recursive: true });
  const folder = mkdtempSync(join(cli, "dist/tested-"));
  // Some tests run the command as another user.
  chmodSync(folder, 0o755);
  await buildCommand(join(folder, "dist"));
  cpSync(join(cli, "bin"), join(folder, "bin"), { recursive: true });
  symlinkSync(join(top, "apps/web/dist"), join(folder, "dist/console"));
  symlinkSync(join(top, "docs"), join(folder, "dist/docs"));
  const server = join(top, "packages/workflow-restate", restate);
  if (existsSync(server)) {
    mkdirSync(join(folder, "node_modules"));
    symlinkSync(server, join(folder, restate));
  }
  return folder;
}
