/**
 * Returns the files of entry points by their import names, for builds. `from` is the `import.meta` of the caller; the
 * entry points belong to the caller's package or its dependencies. Empty in a standalone binary, which contains the
 * entry points.
 */
export function entryFiles(
  from: { dir: string },
  entryPoints: readonly string[],
): Record<string, string> {
  if (Bun.isStandaloneExecutable) return {};
  return Object.fromEntries(entryPoints.map((name) => [name, Bun.resolveSync(name, from.dir)]));
}
