import { type Node, readSource, type Source } from "./source.ts";

/** An entry point of a package, by its file: `workflow/src/index`. */
export const entryPoint = (name: string) => readSource(`packages/${name}.ts`);

/** The names that a source exports again, types marked so. */
function exportedNames({ nodes }: Source): string[] {
  return nodes
    .filter(({ type }) => type === "ExportSpecifier")
    .map(({ exported, exportKind, parentKind }) => {
      const kind = exportKind === "type" || parentKind === "type" ? "type " : "";
      return `${kind}${(exported as Node).name as string}`;
    })
    .sort();
}

/** Gives each specifier the kind of its statement: `export type {A}` states it once for all. */
function withKinds(source: Source): Source {
  for (const { type, exportKind, specifiers } of source.nodes) {
    if (type !== "ExportNamedDeclaration") continue;
    for (const specifier of specifiers as Node[]) specifier.parentKind = exportKind;
  }
  return source;
}

/** The names that an entry point exports, types marked so, a line each. */
export const listOf = (name: string) => exportedNames(withKinds(entryPoint(name))).join("\n");
