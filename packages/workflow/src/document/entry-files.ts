import { fileURLToPath } from "node:url";

/**
 * The files of a package's entry points, by the names by which what is built imports them. `from` is the `import.meta` of
 * a file in a folder of the package's sources; packed, it may be in the `dist` of a program that depends on the package.
 * None in a standalone binary, whose builds get them from its inside.
 */
export const entryFiles = (
  from: { url: string; dir: string },
  entryPoints: Readonly<Record<string, string>>,
): Record<string, string> => {
  const fileOf = (name: string, entryPoint: string): string =>
    from.url.endsWith(".ts")
      ? fileURLToPath(new URL(`../${entryPoint}.ts`, from.url))
      : Bun.resolveSync(name, from.dir);
  if (Bun.isStandaloneExecutable) return {};
  return Object.fromEntries(
    Object.entries(entryPoints).map(([name, entryPoint]) => [name, fileOf(name, entryPoint)]),
  );
};
