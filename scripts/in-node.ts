/**
 * Returns a module that replaces, in Node, an entry point that only Bun can run. The module has the same exports, so that
 * named imports link, and throws a one-line error without the stack of Node's loader.
 *
 * @param entry The text of the entry point, which names each export.
 */
export function inNode(name: string, entry: string): string {
  const { exports } = new Bun.Transpiler({ loader: "ts" }).scan(entry);
  const message = `${name} needs Bun: run the program with it (npx bun <file>), or use @uncaged/workflow/client and \`uncaged-workflow serve\`; the imports of workflows run in Node too`;
  return [
    `export let ${exports.toSorted().join(", ")};`,
    `const error = new Error(${JSON.stringify(message)});`,
    "error.stack = `Error: ${error.message}`;",
    "throw error;",
    "",
  ].join("\n");
}
