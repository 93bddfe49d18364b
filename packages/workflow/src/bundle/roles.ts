import { posix } from "node:path";
import { lexModule } from "./syntax.ts";

/** Texts of a version's source files, by their paths from the source's folder. */
export type Sources = ReadonlyMap<string, string>;

/**
 * Returns the roles that may behave differently in another version, by comparing files. A role imported under its name
 * (`import { planner } from "./planner.ts"`) belongs to the imported file; any other role belongs to the workflow's own
 * file. A role has changed when its file has changed, or a file that it imports by a relative path, recursively. A
 * changed library file changes every role.
 */
export function changedRoles(before: Sources, after: Sources, roles: readonly string[]): string[] {
  const files = new Set([...before.keys(), ...after.keys()]);
  const edited = new Set([...files].filter((file) => before.get(file) !== after.get(file)));
  if (edited.size === 0) return [];
  const versions = [new Modules(before), new Modules(after)];
  // A library file that only one version has is not a change of the library: the author's imports select its files.
  const isLibrary = (file: string) =>
    isCode.test(file) &&
    before.has(file) &&
    after.has(file) &&
    !versions.some((one) => one.has(file));
  if ([...edited].some(isLibrary)) return [...roles];
  return roles.filter((role) =>
    versions.some((version) => version.filesOf(role).some((file) => edited.has(file))),
  );
}

const isCode = /\.[cm]?[jt]sx?$/;

/** An import by a relative path. `clause` is the text between `import` and `from`. */
type RelativeImport = { file: string; clause: string };

/**
 * The author's files in a version's sources: the modules in the source's folder and their relative imports,
 * recursively.
 */
class Modules {
  readonly #sources: Sources;
  readonly #entries: readonly string[];
  readonly #imports = new Map<string, RelativeImport[]>();

  constructor(sources: Sources) {
    this.#sources = sources;
    this.#entries = [...sources.keys()].filter((file) => !file.includes("/") && isCode.test(file));
    this.#reach(this.#entries);
  }

  has(file: string): boolean {
    return this.#imports.has(file);
  }

  /** Returns the files that define a role, and their relative imports, recursively. */
  filesOf(role: string): string[] {
    const names = role.split("/");
    const defining = [...this.#imports.values()].flat().filter(({ clause }) => {
      const words = new Set<string>(clause.match(/[\p{ID_Start}$_][\p{ID_Continue}$]*/gu));
      return names.some((name) => words.has(name));
    });
    return this.#reach(defining.length > 0 ? defining.map(({ file }) => file) : this.#entries);
  }

  #reach(from: readonly string[]): string[] {
    const found = new Set(from);
    for (const file of found) for (const next of this.#importsOf(file)) found.add(next.file);
    return [...found];
  }

  #importsOf(file: string): RelativeImport[] {
    const known = this.#imports.get(file) ?? this.#read(file);
    this.#imports.set(file, known);
    return known;
  }

  #read(file: string): RelativeImport[] {
    if (!isCode.test(file)) return [];
    const language = /jsx?$/.test(file) ? "jsx" : "tsx";
    const loader = file.endsWith("ts") ? "ts" : language;
    const code = new Bun.Transpiler({ loader }).transformSync(this.#sources.get(file) ?? "");
    return lexModule(code).imports.flatMap(({ specifier, importStart, start }) => {
      const imported = this.#find(specifier ?? "", file);
      const clause = code.slice(importStart, start).replace(/^import|from\s*["']$/g, "");
      return imported === null ? [] : [{ file: imported, clause }];
    });
  }

  /** Returns the file that a module imports by a relative path; null for a library. */
  #find(specifier: string, from: string): string | null {
    if (!/^\.\.?(\/|$)/.test(specifier)) return null;
    const path = posix.join(posix.dirname(from), specifier);
    const stem = path.replace(/\.[cm]?jsx?$/, "");
    const endings = ["", ".ts", ".tsx", ".mts", ".js", ".mjs"];
    const names = [
      path,
      ...[stem, `${path}/index`].flatMap((name) => endings.map((end) => name + end)),
    ];
    return names.find((name) => this.#sources.has(name)) ?? null;
  }
}
