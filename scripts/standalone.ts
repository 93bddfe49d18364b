import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/*
 * Compiles the command line into one executable: Bun, the product with its bytecode, the console, the packages from
 * which bundles are built, and the packages that projects install. The executable is also its own worker and builder:
 * see `standalone-main.ts`.
 */
const here = fileURLToPath(new URL(".", import.meta.url));

/** Contents of a binary. */
export type Parts = {
  /** Archive of the packages from which bundles are built. */
  library: string;
  /** Folders of files that the program reads: the console, and the documents. */
  folders: string[];
  /** Archive of the packages that a project installs. */
  archive: string;
};

/** Compiles the binary into a folder, for this machine or another platform (`bun-linux-arm64`). */
export async function makeStandalone(
  folder: string,
  parts: Parts,
  target: Bun.Build.CompileTarget | undefined,
): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { success, logs } = await Bun.build({
    entrypoints: [join(here, "standalone-main.ts")],
    target: "bun",
    format: "esm",
    splitting: true,
    minify: { whitespace: true, syntax: true },
    bytecode: true,
    compile: {
      outfile: join(folder, "uncaged-workflow"),
      assets: [...parts.folders, parts.archive, parts.library],
      // The binary must not read the configuration of the caller's folder.
      execArgv: ["--no-install"],
      autoloadDotenv: false,
      autoloadBunfig: false,
      autoloadPackageJson: true,
      ...(target && { target }),
    },
    throw: false,
  });
  if (!success) throw new Error(logs.map(String).join("\n"));
}
