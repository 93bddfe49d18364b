/** Entry files of the programs that this package runs as processes. */
const sources = {
  worker: "../worker/main.ts",
  "inspect-child": "../bundle/inspect-child.ts",
  "build-child": "../bundle/build-child.ts",
  "chaos-child": "../chaos/chaos-child.ts",
  "replay-child": "../upgrade/replay-child.ts",
} as const;

export type Program = keyof typeof sources;

/** Flags that keep Bun from reading the configuration or `.env` of its working folder, and from installing packages. */
export const bunFlags = ["--no-env-file", "--no-install", `--config=/dev/null`];

/** Returns the first argument that makes a standalone binary run one of its programs instead of its command line. */
export const programArgument = (program: Program): string => `__${program}`;

/**
 * Returns the entry file of a program: in a packed package, a file in the folder of the running file; null in a
 * standalone binary.
 */
export function fileOf(program: Program): string | null {
  if (Bun.isStandaloneExecutable) return null;
  const file = import.meta.url.endsWith(".ts") ? sources[program] : `./${program}.js`;
  return Bun.fileURLToPath(new URL(file, import.meta.url));
}

/** Returns the command that runs a program: a file for this Bun; in a standalone binary the binary itself. */
export function commandOf(program: Program, args: readonly string[]): [string, ...string[]] {
  const { execPath } = process;
  const file = fileOf(program);
  return file === null
    ? [execPath, programArgument(program), ...args]
    : [execPath, ...bunFlags, file, ...args];
}
