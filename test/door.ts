import { type Node, readSource, type Source } from "./source.ts";

/** A door of a package, by the file that it is. */
export const door = (name: string) => readSource(`packages/${name}.ts`);

function exportedNames({ nodes }: Source): string[] {
  return nodes
    .filter(({ type }) => type === "ExportSpecifier")
    .map(({ exported, exportKind, parentKind }) => {
      const kind = exportKind === "type" || parentKind === "type" ? "type " : "";
      return `${kind}${(exported as Node).name as string}`;
    })
    .sort();
}

/** Gives each specifier the kind of its statement: `export type {A}` says it once for all. */
function withKinds(source: Source): Source {
  for (const { type, exportKind, specifiers } of source.nodes) {
    if (type !== "ExportNamedDeclaration") continue;
    for (const specifier of specifiers as Node[]) specifier.parentKind = exportKind;
  }
  return source;
}

/** The names that a door offers, types marked so, a line each. */
export const listOf = (name: string) => exportedNames(withKinds(door(name))).join("\n");
