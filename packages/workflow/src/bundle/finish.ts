import { isBuiltin, parseModule } from "./syntax.ts";
import { fileURLToPath } from "node:url";
import type { BunPlugin } from "bun";

const dirname = "__uncagedDirname";
const filename = "__uncagedFilename";
const debugId = /\n*\/\/# debugId=[0-9A-F]+\s*$/;

/**
 * For Bun's option `define`: Bun would write the absolute `__dirname` and `__filename` of each
 * CommonJS file into the code. Under these names they are the bundle's own, when it runs.
 */
export const portableNames = { __dirname: dirname, __filename: filename };

/**
 * Makes of Bun's output a bundle: takes out the debug id (a digest over paths), gives
 * {@link portableNames} their values, and makes `import("node:fs")`, which packages use to work in
 * browsers too, the static import that a bundle may have. What is added is a line of its own and what is replaced keeps its length, so the map stays right.
 */
export function finishBuild(code: string, map: string): { code: string; map: string } {
  const plain = `${code.replace(debugId, "").trimEnd()}\n`;
  const { text, declarations } = withStaticImports(plain);
  if (plain.includes(dirname)) declarations.push(`var ${dirname}=import.meta.dirname;`);
  if (plain.includes(filename)) declarations.push(`var ${filename}=import.meta.filename;`);
  const parsed = JSON.parse(map) as { mappings: string; debugId?: string };
  delete parsed.debugId;
  if (declarations.length === 0) return { code: text, map: JSON.stringify(parsed) };
  parsed.mappings = `;${parsed.mappings}`;
  const head = /^(#!.*\n)?(\/\/ @bun.*\n)?/.exec(text)?.[0] ?? "";
  const line = `${declarations.join("")}\n`;
  return { code: head + line + text.slice(head.length), map: JSON.stringify(parsed) };
}

function withStaticImports(code: string): { text: string; declarations: string[] } {
  const names = new Map<string, string>();
  let text = code;
  for (const { start, end, module } of importedBuiltins(code)) {
    const name = names.get(module) ?? unusedName(code, [...names.values()]);
    names.set(module, name);
    text = text.slice(0, start) + `${name}()`.padEnd(end - start) + text.slice(end);
  }
  const declarations = Array.from(
    names,
    ([module, name]) =>
      `import*as ${name}_ from${JSON.stringify(module)};var ${name}=()=>Promise.resolve(${name}_);`,
  );
  return { text, declarations };
}

function importedBuiltins(code: string): { start: number; end: number; module: string }[] {
  // A parse takes time, and few bundles have a dynamic import.
  if (!/\bimport\s*\(/.test(code)) return [];
  return parseModule(code).nodes.flatMap((node) => {
    if (node.type !== "ImportExpression" || node.options) return [];
    const module = node.source.type === "Literal" ? node.source.value : undefined;
    if (typeof module !== "string" || !isBuiltin(module)) return [];
    return [{ start: node.start, end: node.end, module }];
  });
}

// Short enough to replace, with its parentheses, `import("fs")`.
function unusedName(code: string, taken: string[]): string {
  for (let number = 0; ; number++) {
    const name = `$i${number}`;
    if (!taken.includes(name) && !code.includes(name)) return name;
  }
}

/** The package that a source may import without having it installed. */
export const ownName = "@uncaged/workflow";

/**
 * Resolves the named packages to the given files, and `@uncaged/workflow` to the copy that is running,
 * where the importing file has none of its own.
 */
export function ownPackages(resolve: Readonly<Record<string, string>>): BunPlugin {
  return {
    name: "own-packages",
    setup(build) {
      build.onResolve({ filter: /^@uncaged\/workflow$/ }, ({ resolveDir }) => {
        try {
          Bun.resolveSync(ownName, resolveDir);
          return undefined;
        } catch {
          return { path: ownIndex() };
        }
      });
      for (const [name, path] of Object.entries(resolve)) {
        const filter = new RegExp(`^${RegExp.escape(name)}$`);
        build.onResolve({ filter }, () => ({ path }));
      }
    },
  };
}

// Packed, this file is in a `dist`: that of the package itself, or of one that depends on it.
function ownIndex(): string {
  if (import.meta.url.endsWith(".ts"))
    return fileURLToPath(new URL("../index.ts", import.meta.url));
  return Bun.resolveSync(ownName, import.meta.dir);
}
