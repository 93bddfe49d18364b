/**
 * The files of entry points, by the names by which what is built imports them. `from` is the `import.meta` of the
 * caller, whose package or its own dependencies have the entry points. Empty in a standalone binary, whose builds get
 * them from its inside.
 */
export function entryFiles(
  from: { dir: string },
  entryPoints: readonly string[],
): Record<string, string> {
  if (Bun.isStandaloneExecutable) return {};
  return Object.fromEntries(entryPoints.map((name) => [name, Bun.resolveSync(name, from.dir)]));
}
