import { closeSync, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { bubblewrapArguments, systemPaths } from "../sandbox/bubblewrap.ts";
import { Handle, isInside } from "../sandbox/handle.ts";
import { bubblewrapFor, type SandboxMode } from "../sandbox/mode.ts";
import { keyringFilter } from "../sandbox/seccomp.ts";
import { outermost } from "../sandbox/view.ts";
import { commandOf, fileOf, type Program } from "../system/programs.ts";

/** A command line in a sandbox, and the open descriptors of its process from number 4 on. */
export type Confined = Disposable & { argv: string[]; descriptors: number[] };

/** First descriptor after the descriptor of the answer channel. */
const firstDescriptor = 4;
const temporaryBytes = 16 << 20;

/**
 * Returns the command line that starts one of this package's programs in bubblewrap. The program can read the system,
 * its own code and `files`, and can write to the folder `cwd`. It has no network. Returns null when `mode` is `off`, or
 * is `auto` and no sandbox is available.
 *
 * @throws WorkflowError `SANDBOX_MISSING`
 */
export async function confined(
  { args, cwd, files, program }: Task,
  mode: SandboxMode,
): Promise<Confined | null> {
  const bubblewrap = await bubblewrapFor(mode, { PATH: process.env.PATH });
  if (typeof bubblewrap === "string") return null;
  using opened = new DisposableStack();
  const show = (path: string, isWritable: boolean) => {
    return { handle: opened.use(Handle.open(path)), to: path, isWritable };
  };
  const folder = show(cwd, true);
  const filter = keyringFilter();
  const filters = filter === null ? [] : [unnamed(folder.handle, filter)];
  for (const descriptor of filters) opened.defer(() => closeSync(descriptor));
  const view = {
    ...{ writable: [folder.handle], hasFilter: filter !== null },
    shown: [
      ...codeOf(program).map((path) => show(path, false)),
      folder,
      ...files.filter((path) => existsSync(path)).map((path) => show(path, false)),
    ],
    ...{ covered: [], links: [], env: {}, unsetEnv: [], cwd, temporaryBytes },
  };
  const { argv, descriptors } = bubblewrapArguments(bubblewrap, view, firstDescriptor);
  const handles = opened.move();
  return {
    argv: [...argv, ...commandOf(program, args)],
    descriptors: [...descriptors, ...filters],
    [Symbol.dispose]: () => handles.dispose(),
  };
}

type Task = { program: Program; args: readonly string[]; cwd: string; files: readonly string[] };

/** Returns the descriptor of a new file without a name in `folder`. */
function unnamed(folder: Handle, content: string | Buffer): number {
  folder.write("file", content);
  const descriptor = folder.descriptor("file");
  folder.remove("file");
  return descriptor;
}

/** Returns the files and folders of a program, except files of the operating system. */
function codeOf(program: Program): string[] {
  const file = fileOf(program);
  const own = file === null ? [] : [...folderOf(file), ...packagesFor(file)];
  const paths = [process.execPath, ...own];
  return outermost(paths.filter((path) => !systemPaths.some((folder) => isInside(path, folder))));
}

/** Returns the folder of a packed program's files, or this package's `src` folder. */
const folderOf = (file: string): string[] =>
  file.endsWith(".ts") ? [dirname(dirname(file))] : [dirname(file)];

/** Returns the folders in which package imports of a source are resolved. A packed program contains them. */
function packagesFor(file: string): string[] {
  if (!file.endsWith(".ts")) return [];
  const folders: string[] = [];
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    const packages = join(folder, "node_modules");
    if (existsSync(packages)) folders.push(packages);
  }
  return folders;
}
